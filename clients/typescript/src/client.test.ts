import { expect, it, vi } from 'vitest';
import { Reelwright } from './client.ts';
import { JobEndedError, ReelwrightError } from './errors.ts';
import type { Job } from './types.ts';

// What a service would have to fail for; test/contract/sdk.test.ts has the rest against a real one.

const json = (body: unknown, status = 200, headers: Record<string, string> = {}) =>
  Response.json(body, { status, headers });
const problem = (status: number, code: string, headers: Record<string, string> = {}) =>
  json({ code, detail: 'no', status, trace_id: 't'.repeat(32), type: '', title: '', instance: '' }, status, headers);
const jobOf = (status: Job['status'], updated = 1) =>
  ({
    job_id: '1',
    type: 'video:cover',
    status,
    results: {},
    error: null,
    updated_at: String(updated),
  }) as unknown as Job;

/** A client of a service that gives these answers one after another, and the requests that it had. */
function clientOf(...answers: readonly (() => Response)[]) {
  const requests: Request[] = [];
  const fetch = async (request: Request) => {
    requests.push(request);
    const answer = answers[requests.length - 1];
    if (answer === undefined) throw new TypeError('no more answers');
    return answer();
  };
  const retry = { attempts: 3, waitSecMax: 1 };
  return { client: new Reelwright({ baseUrl: 'http://service.test/', apiKey: 'k', fetch, retry }), requests };
}

const refuse = (): Response => {
  throw new TypeError('fetch failed', { cause: new Error('ECONNREFUSED') });
};

it('a Retry-After beyond the bound is not waited for', async () => {
  const { client, requests } = clientOf(() => problem(503, 'busy', { 'retry-after': '60' }));
  const error = await client.job('1').catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ReelwrightError);
  expect(error).toMatchObject({ code: 'busy', status: 503, retryAfterSec: 60, traceId: 't'.repeat(32) });
  expect((error as ReelwrightError).advice).toContain('Retry-After');
  expect(requests).toHaveLength(1);
});

it('a retry of a job is not repeated after a broken connection, since it could make two', async () => {
  const { client, requests } = clientOf(refuse);
  await expect(client.retry('1')).rejects.toMatchObject({
    code: 'unreachable',
    detail: expect.stringContaining('ECONN'),
  });
  expect(requests).toHaveLength(1);
});

it.each([
  ['a page of a proxy', () => new Response('<html>', { status: 404 }), 404],
  ['a page with a status of success', () => new Response('<html>'), 0],
])('%s is an unexpected answer', async (_, answer, status) => {
  await expect(clientOf(answer).client.job('1')).rejects.toMatchObject({ code: 'unexpected_answer', status });
});

it('an answer without a problem document is named by the trace id of its header', async () => {
  const headers = { 'x-trace-id': 'a'.repeat(32) };
  const { client } = clientOf(() => new Response('<html>', { status: 502, headers }));
  await expect(client.retry('1')).rejects.toMatchObject({ code: 'unexpected_answer', traceId: 'a'.repeat(32) });
});

it.each([
  ['no URL', { baseUrl: 'media', apiKey: 'k' }, 'baseUrl'],
  ['a URL without a scheme', { baseUrl: 'media:8080', apiKey: 'k' }, 'baseUrl'],
  ['no key', { baseUrl: 'http://a', apiKey: '' }, 'apiKey'],
])('a client of %s is refused with the name of the option', (_, options, name) => {
  expect(() => new Reelwright(options)).toThrow(name);
});

const credentialsOf = async (apiKey: string | null) => {
  const sent: Headers[] = [];
  const fetch = ({ headers }: Request) => {
    sent.push(headers);
    return Promise.resolve(Response.json({ job_id: '1' }));
  };
  await new Reelwright({ baseUrl: 'http://service.test', apiKey, fetch }).job('1');
  return sent.map((headers) => [headers.get('x-api-key'), headers.get('x-reelwright-session')]);
};

it('a client with an API key sends it, and one of a page with a session says so in its place', async () => {
  expect(await credentialsOf('k')).toEqual([['k', null]]);
  expect(await credentialsOf(null)).toEqual([[null, '1']]);
});

const stream = (...jobs: readonly Job[]) =>
  new Response(jobs.map((job) => `id: ${job.updated_at}\nevent: job\ndata: ${JSON.stringify(job)}\n\n`).join(''), {
    headers: { 'content-type': 'text/event-stream' },
  });

const silent = () => new Response(new ReadableStream(), { headers: { 'content-type': 'text/event-stream' } });

it('a wait goes on where its stream ended, with the id of its last event', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0);
  const { client, requests } = clientOf(
    () => stream(jobOf('queued', 1), jobOf('processing', 2)),
    refuse,
    // A state that is sent again is no progress.
    () => stream(jobOf('processing', 2), jobOf('completed', 3)),
  );
  const seen: string[] = [];
  const job = await client.waitFor('1', { onProgress: ({ status }) => seen.push(status) });
  vi.restoreAllMocks();
  expect([job.status, seen]).toEqual(['completed', ['queued', 'processing', 'completed']]);
  expect(requests.map(({ headers }) => headers.get('last-event-id'))).toEqual([null, '2', '2']);
  expect(requests[0]?.url, 'without the slash at the end of the base').toBe('http://service.test/api/jobs/1/events');
});

it('a wait for a job that fails throws its error with what to do', async () => {
  const error = { code: 'source_not_found', message: 'missing', retryable: false, attempt: 1 };
  const { client } = clientOf(() => stream({ ...jobOf('failed'), error } as Job));
  const thrown = await client.waitFor('1').catch((each: unknown) => each);
  expect(thrown).toBeInstanceOf(JobEndedError);
  expect(thrown).toMatchObject({
    code: 'source_not_found',
    isRetryable: false,
    advice: expect.stringContaining('Upload'),
  });
});

it('a wait ends with its signal, and with its time', async () => {
  await expect(clientOf(silent).client.waitFor('1', { signal: AbortSignal.timeout(20) })).rejects.toMatchObject({
    name: 'TimeoutError',
  });
  for (const timeoutSec of [0.1, 0.0105])
    await expect(clientOf(silent).client.waitFor('1', { timeoutSec })).rejects.toMatchObject({ code: 'timeout' });
});

it.each([3_000_000, 1e9, Number.POSITIVE_INFINITY])('a wait of %d seconds is not over at once', async (timeoutSec) => {
  const signal = AbortSignal.timeout(20);
  const waiting = clientOf(silent).client.waitFor('1', { timeoutSec, signal });
  await expect(waiting).rejects.toMatchObject({ name: 'TimeoutError' });
});

/** A service of uploads of 10-byte parts, which fails once for part 2. */
function uploadService(size: number, uploaded: readonly number[] = []) {
  const parts = new Map<number, string>(uploaded.map((number) => [number, 'known']));
  let failures = 1;
  const numbers = Array.from({ length: Math.ceil(size / 10) }, (_, index) => index + 1);
  const shown = (from: number) => ({
    upload_id: 'u',
    status: 'open',
    source: 'uploads/u/a.mp4',
    size,
    part_size: 10,
    parts: numbers
      .slice(from - 1, from + 1)
      .map((number) => ({ number, url: `/put/${number}`, uploaded: parts.has(number) })),
    next_part: from + 2 > numbers.length ? null : from + 2,
  });
  const fetch = async (request: Request): Promise<Response> => {
    const { pathname, searchParams } = new URL(request.url);
    const number = Number(/^\/put\/(\d+)$/.exec(pathname)?.[1]);
    if (number === 2 && failures-- > 0) return new Response(null, { status: 500, headers: { 'retry-after': '0' } });
    if (number > 0) {
      expect(request.headers.get('x-api-key')).toBeNull();
      parts.set(number, await request.text());
      return new Response(null);
    }
    if (pathname.endsWith('/complete')) return json({ ...shown(1), status: 'completed' });
    return json(shown(Number(searchParams.get('part_from') ?? 1)), request.method === 'POST' ? 201 : 200);
  };
  return { client: new Reelwright({ baseUrl: 'http://service.test', apiKey: 'k', fetch }), parts };
}

const text = 'aaaaaaaaaabbbbbbbbbbccccccccccdddddddddde';
const partsOf = (parts: ReadonlyMap<number, string>) =>
  [...parts].toSorted(([a], [b]) => a - b).map(([, part]) => part);
const inParts = ['aaaaaaaaaa', 'bbbbbbbbbb', 'cccccccccc', 'dddddddddd', 'e'];

it.each([
  ['a file', new File([text], 'a.mp4')],
  ['a stream', new Blob([text]).stream()],
])('%s is uploaded in parts, each repeated by itself, and its progress ends at its size', async (_, source) => {
  const { client, parts } = uploadService(text.length);
  const seen: number[] = [];
  const options = {
    name: 'a.mp4',
    size: text.length,
    onProgress: (to: { sentBytes: number }) => seen.push(to.sentBytes),
  };
  const upload = await client.upload(source, options);
  expect([upload.source, partsOf(parts)]).toEqual(['uploads/u/a.mp4', inParts]);
  expect([seen[0], seen.at(-1)]).toEqual([0, text.length]);
});

it('an upload of a stream without a size, or of nothing, says so', async () => {
  const { client } = uploadService(1);
  await expect(client.upload(new ReadableStream())).rejects.toThrow('size');
  await expect(client.upload(new Blob([]))).rejects.toThrow('empty');
});

/** A 404 of an address. */
const missingAt = (url: string) => () => Object.defineProperty(problem(404, 'not_found'), 'url', { value: url });

it('a base address that ends with a page of the service is named as the fault of a 404', async () => {
  const urls = ['http://service.test/console/api/jobs/1', 'http://service.test/api/jobs/1'];
  const { client } = clientOf(...urls.map(missingAt));
  await expect(client.job('1')).rejects.toThrow('baseUrl ends with /console; leave that out');
  await expect(client.job('1')).rejects.toThrow(/: no$/);
});
