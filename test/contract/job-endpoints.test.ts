import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jobTypeNames } from '#domain/job-types/index.ts';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// docs/reference/contract.md, "Submission" and "Jobs": submitting, the preflight, reading, retrying. Listing,
// cancelling, events and callbacks: job-routes.test.ts.

let api: ApiUnderTest;
let counter = 0;
const video = (source: string, type = 'video:transcode') => ({ type, hash: `v${counter++}`, source });

beforeAll(async () => {
  api = await startApi({ maxFileSizeBytes: 4096, largeVideoThresholdBytes: 2048 });
  for (const size of [1, 100, 2047, 2048, 4096, 4097]) await api.putSource(`${size}.mp4`, Buffer.alloc(size));
});
afterAll(() => api.close());

describe('`POST /api/jobs`', () => {
  it('C11.1: a submission is JSON, and is answered 202 for a new job and 200 for an equal one', async () => {
    const submission = video('100.mp4');
    const answers = [await api.submit(submission), await api.submit(submission)];
    expect(answers.map(({ status }) => status)).toEqual([202, 200]);
    for (const { headers } of answers) expect(headers.get('content-type')).toMatch(/^application\/json/);
    const asText = await api.submit(JSON.stringify(submission), { 'content-type': 'text/plain' });
    expect(asText.status).toBe(415);
  });
});

const videoTypes = jobTypeNames.filter((type) => type.startsWith('video:'));

describe('the preflight of a submission', () => {
  it.each(videoTypes)('C11.20, C22.3: a %s without its source object is refused with 400', async (type) => {
    const answer = await api.submit(video('missing.mp4', type));
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({
      code: 'source_missing',
      errors: [
        { pointer: '/source', code: 'source_missing', detail: '"missing.mp4" does not exist in the source bucket' },
      ],
    });
  });

  // The job itself: test/integration/runner-images.test.ts.
  it('C22.6: an image:thumbnail without its source object is accepted', async () => {
    expect((await api.submit(video('missing.mp4', 'image:thumbnail'))).status).toBe(202);
  });

  it.each(videoTypes)('C11.21, C22.4: a %s larger than MAX_FILE_SIZE is refused with 413', async (type) => {
    const answer = await api.submit(video('4097.mp4', type));
    expect(answer.status).toBe(413);
    expect(answer.json).toMatchObject({ code: 'source_too_large', errors: [{ pointer: '/source' }] });
    expect((await api.submit(video('4096.mp4', type))).status).toBe(202);
  });

  it.each([
    ['1.mp4', 'default'],
    ['2047.mp4', 'default'],
    ['2048.mp4', 'video:large'],
    ['4096.mp4', 'video:large'],
  ])('C11.22: the measured size of %s puts it into the queue %s', async (source, queue) => {
    const before = await api.d.queue.depth();
    const { json } = await api.submit(video(source));
    const job = await api.d.jobs.find(json.job_id);
    expect(job).toMatchObject({ queue, sourceSizeBytes: Number.parseInt(source, 10) });
    expect(job?.sourceEtag).toBeTruthy();
    const after = await api.d.queue.depth();
    const name = queue as keyof typeof after;
    expect(after[name].pending).toBe(before[name].pending + 1);
  });

  it('C11.23: a submission whose source is refused leaves no row behind', async () => {
    const submission = video('missing.mp4');
    await api.submit(submission);
    await api.putSource('missing.mp4', 'x');
    expect((await api.submit(submission)).status).toBe(202);
    await api.d.source.delete(['missing.mp4']);
  });
});

describe('`GET /api/jobs/{id}`', () => {
  it('C13.9: reading a job answers with the Job', async () => {
    const { json } = await api.submit(video('100.mp4'));
    const answer = await api.call(`/api/jobs/${json.job_id}`);
    expect([answer.status, answer.json.job_id, answer.json.status]).toEqual([200, json.job_id, 'queued']);
  });

  it.each(['00000000-0000-4000-8000-000000000000', 'not-a-uuid', '%00', "'; drop table jobs; --", '%F0%9F%8E%AC'])(
    'C22.11: the unknown or malformed job id %s answers 404',
    async (id) => {
      const answer = await api.call(`/api/jobs/${id}`);
      expect([answer.status, answer.json.code]).toEqual([404, 'not_found']);
    },
  );
});

describe('`POST /api/jobs/{id}/retry`', () => {
  const path = '/api/jobs/00000000-0000-4000-8000-000000000000/retry';

  it('C22.11: a retry of an unknown job or a malformed id answers 404', async () => {
    for (const of of [path, '/api/jobs/not-a-uuid/retry', '/api/jobs/%00/retry'])
      expect((await api.call(of, { method: 'POST' })).status).toBe(404);
  });

  it('C13.18: a retry answers 202, takes an empty JSON body and refuses fields', async () => {
    const { json } = await api.submit({ type: 'image:thumbnail', hash: 'failed', source: 'a.jpg' });
    await api.fail(json.job_id);
    expect((await api.call(`/api/jobs/${json.job_id}/retry`, { method: 'POST' })).status).toBe(202);
    const headers = { 'content-type': 'application/json' };
    expect((await api.call(path, { method: 'POST', headers })).status).toBe(404);
    expect((await api.call(path, { method: 'POST', headers, body: '{}' })).status).toBe(404);
    const refused = await api.call(path, { method: 'POST', headers, body: '{"strategy":"all"}' });
    expect([refused.status, refused.json.errors[0].pointer]).toEqual([400, '/strategy']);
  });
});

describe('methods', () => {
  it.each([
    ['DELETE', '/api/jobs/x', 'GET, HEAD'],
    ['PUT', '/api/jobs', 'POST'],
    ['POST', '/stream/h/master.m3u8', 'GET, HEAD, OPTIONS'],
    ['POST', '/api/key/h', 'GET, HEAD, OPTIONS'],
    ['POST', '/thumb/a/b', 'GET, HEAD'],
    ['DELETE', '/healthz', 'GET, HEAD'],
  ])('C22.20: %s %s answers 405 and names the methods that are allowed', async (method, path, allow) => {
    const answer = await api.call(path, { method });
    expect([answer.status, answer.json.code]).toEqual([405, 'method_not_allowed']);
    for (const name of allow.split(', ')) expect(answer.headers.get('allow')).toContain(name);
  });
});

describe('tracing', () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c';

  it.each(['x', '00-00000000000000000000000000000000-b7ad6b7169203331-01', `ff-${traceId}-b7ad6b7169203331-01`])(
    'a malformed traceparent (%s) begins a new trace',
    async (malformed) => {
      const answer = await api.call('/healthz', { headers: { traceparent: malformed } });
      expect(answer.headers.get('x-trace-id')).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
      expect(answer.headers.get('x-trace-id')).not.toBe(traceId);
    },
  );
});
