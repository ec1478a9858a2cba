import { afterEach, beforeEach, expect, it, vi } from 'vitest';

// How the console calls the API: its key, refusals, and the events of a job.

type Answer = Response | Error | (() => Response);
let answers: Answer[] = [];
let sent: { readonly path: string; readonly headers: Record<string, string> }[] = [];

async function answer(url: URL, { headers }: { headers: Record<string, string> }): Promise<Response> {
  sent.push({ path: url.pathname.slice('/under'.length), headers });
  const next = answers.shift() ?? new Response(null, { status: 204 });
  if (next instanceof Error) throw next;
  return next instanceof Response ? next : next();
}

async function load() {
  vi.stubGlobal('document', { baseURI: 'http://reelwright.test/under/console/' });
  return await import('./api.js');
}

const problem = (status: number, headers: Record<string, string> = {}) =>
  Response.json({ code: 'a_code', detail: 'A detail.' }, { status, headers });

/** Events whose bytes come in pieces that end anywhere. */
function eventStream(text: string): Response {
  const bytes = new TextEncoder().encode(text);
  const pieces = [bytes.subarray(0, 13), bytes.subarray(13, 41), bytes.subarray(41)];
  return new Response(ReadableStream.from(pieces));
}

beforeEach(() => {
  [answers, sent] = [[], []];
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  vi.stubGlobal('fetch', answer);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const eventOf = (id: number, progress: number) => `id: ${id}\nevent: job\ndata: {"hash":"é: 1","progress":${progress}}`;

it('C28.9: a redirect is not followed, which would take the key along, and the reason is said', async () => {
  const { signIn } = await load();
  const asked: (string | undefined)[] = [];
  vi.stubGlobal('fetch', (_: URL, { redirect }: RequestInit) => {
    asked.push(redirect);
    return Promise.resolve({ ok: false, status: 0, type: 'opaqueredirect' });
  });
  await expect(signIn('a-key')).rejects.toMatchObject({
    code: 'redirected',
    message: expect.stringContaining('proxy'),
  });
  expect(asked).toEqual(['manual']);
});

it('events of a job are read over interruptions, from the last one on, until the server has no more', async () => {
  const { followJob } = await load();
  answers = [
    eventStream(`retry: 2000\n\n${eventOf(5, 10)}\n\n: still here\n\n${eventOf(7, 20)}\n\n`),
    new Error('the connection was reset'),
    problem(503),
    problem(429),
    eventStream(`${eventOf(9, 100)}\n\n`),
  ];
  const seen: unknown[] = [];
  const ended = followJob('j/1', (job: unknown) => seen.push(job), new AbortController().signal);
  await vi.advanceTimersByTimeAsync(5 * 2000);
  await ended;
  expect(seen).toEqual([10, 20, 100].map((progress) => ({ hash: 'é: 1', progress })));
  expect(sent.map(({ path }) => path)).toEqual(Array(6).fill('/api/jobs/j%2F1/events'));
  expect(sent.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '7', '7', '7', '7', '9']);
});

it('a problem has what the server says, and without a document its status', async () => {
  const { api } = await load();
  const faults = [{ pointer: '/hash', detail: 'is wrong' }];
  answers = [
    Response.json({ code: 'invalid_request', detail: 'It is wrong.', errors: faults }, { status: 400 }),
    problem(429, { 'retry-after': '7' }),
    new Response('<h1>Bad Gateway</h1>', { status: 502 }),
    new Error('refused'),
  ];
  const refused = () => api.pools().catch((error: unknown) => error);
  expect(await refused()).toMatchObject({ status: 400, code: 'invalid_request', message: 'It is wrong.', faults });
  expect(await refused()).toMatchObject({ status: 429, retryAfterSec: 7, faults: [] });
  expect(await refused()).toMatchObject({ status: 502, message: 'The server answered 502.' });
  expect(await refused()).toMatchObject({ status: 0, code: 'unreachable', faults: [] });
});

it('a key that is refused later is forgotten, with the reason; another one that is refused is not', async () => {
  const { api, has, signIn, whenSignedOut } = await load();
  const reasons: string[] = [];
  whenSignedOut((reason: string) => reasons.push(reason));
  answers = [Response.json({ jobs: [] }), Response.json({ paths: { '/api/pools': { get: {} } } })];
  await signIn('key-1');
  expect([has('GET /api/pools'), has('POST /api/pools')]).toEqual([true, false]);
  answers = [problem(401)];
  await expect(signIn('key-2')).rejects.toMatchObject({ status: 401 });
  await expect(signIn('ключ')).rejects.toMatchObject({ status: 401 });
  expect(reasons).toEqual([]);
  answers = [problem(403), problem(401)];
  await expect(api.pools()).rejects.toMatchObject({ status: 403 });
  expect(reasons).toEqual([]);
  await expect(api.pools()).rejects.toMatchObject({ status: 401 });
  expect(reasons).toEqual(['This key is not accepted any longer.']);
  await api.retry('j-1');
  expect(sent.map(({ headers }) => headers['x-api-key'])).toEqual(['key-1', 'key-1', 'key-2', 'key-1', 'key-1', '']);
});
