import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// Section 4, "### Job management (all require `X-API-Key`)": that they require it is in section-5-authentication.test.ts,
// '%s %s answers 401 without a key and with a wrong one, with the same body'.

let api: ApiUnderTest;
let counter = 0;
const video = (source: string, type = 'video:transcode') => ({ type, hash: `v${counter++}`, source });

beforeAll(async () => {
  api = await startApi({ maxFileSizeBytes: 4096, largeVideoThresholdBytes: 2048 });
  for (const size of [0, 100, 2047, 2048, 4096, 4097]) await api.putSource(`${size}.mp4`, Buffer.alloc(size));
});
afterAll(() => api.close());

// "**`POST /api/jobs`**" "Request: JSON body (section 2), `Content-Type: application/json`." "Response: JSON (section 2);
// status 202 for a new job, 200 for an idempotency hit."
describe('`POST /api/jobs`', () => {
  it('takes JSON and answers with JSON: 202 for a new job, 200 for a hit', async () => {
    const submission = video('100.mp4');
    const answers = [await api.submit(submission), await api.submit(submission)];
    expect(answers.map(({ status }) => status)).toEqual([202, 200]);
    for (const { headers } of answers) expect(headers.get('content-type')).toMatch(/^application\/json/);
    const asText = await api.submit(JSON.stringify(submission), { 'content-type': 'text/plain' });
    expect(asText.status).toBe(415);
  });
});

// "Video source preflight, for `video:transcode` and `video:full`, before acceptance:"
describe('`POST /api/jobs`: video source preflight, "for `video:transcode` and `video:full`"', () => {
  it.each(['video:transcode', 'video:full'])(
    '%s: "The source object must exist in the source bucket"',
    async (type) => {
      const answer = await api.submit(video('missing.mp4', type));
      expect(answer.status).toBe(400);
      expect(answer.json).toMatchObject({
        code: 'source_missing',
        errors: [{ pointer: '/source', code: 'source_missing', detail: 'does not exist in the source bucket' }],
      });
    },
  );

  // decisions.md: "A missing object is 400 for video jobs at preflight and `source_not_found` for image jobs when they
  // run." (The latter: test/integration/runner-images.test.ts, 'says that a source is not there, and that it changed')
  it.each(['image:thumbnail', 'video:cover', 'video:preview'])(
    '%s has none: a missing source is told by the job',
    async (type) => {
      expect((await api.submit(video('missing.mp4', type))).status).toBe(202);
    },
  );

  // "The request is rejected when the size exceeds `MAX_FILE_SIZE`."
  // Section 7: "| 413 | video source larger than `MAX_FILE_SIZE` |"
  it.each(['video:transcode', 'video:full'])('%s is "rejected when the size exceeds `MAX_FILE_SIZE`"', async (type) => {
    const answer = await api.submit(video('4097.mp4', type));
    expect(answer.status).toBe(413);
    expect(answer.json).toMatchObject({ code: 'source_too_large', errors: [{ pointer: '/source' }] });
    expect((await api.submit(video('4096.mp4', type))).status).toBe(202);
  });

  // "The object size is read from storage." "The measured size (not a caller hint) routes the job to the `default` or
  // the `video:large` queue."
  // decisions.md: "`LARGE_VIDEO_THRESHOLD=2GiB` (at or over it → `video:large`)."
  it.each([
    ['0.mp4', 'default'],
    ['2047.mp4', 'default'],
    ['2048.mp4', 'video:large'],
    ['4096.mp4', 'video:large'],
  ])('"The measured size (not a caller hint) routes the job": %s goes to %s', async (source, queue) => {
    const before = await api.d.queue.depth();
    const { json } = await api.submit(video(source));
    const job = await api.d.jobs.find(json.job_id);
    expect(job).toMatchObject({ queue, sourceSizeBytes: Number.parseInt(source, 10) });
    expect(job?.sourceEtag).toBeTruthy();
    const after = await api.d.queue.depth();
    const name = queue as keyof typeof after;
    expect(after[name].pending).toBe(before[name].pending + 1);
  });

  it('leaves no row behind for a source that was refused', async () => {
    const submission = video('missing.mp4');
    await api.submit(submission);
    await api.putSource('missing.mp4', 'x');
    expect((await api.submit(submission)).status).toBe(202);
    await api.d.source.delete(['missing.mp4']);
  });
});

describe('`GET /api/jobs/{id}`', () => {
  // "**`GET /api/jobs/{id}`**" "No request body. Response: the Job object (section 2)." The fields of that object:
  // section-2-resources.test.ts, 'has the fields of the table, with `phase` and `attempt` beside them'
  it('answers with the Job object', async () => {
    const { json } = await api.submit(video('100.mp4'));
    const answer = await api.call(`/api/jobs/${json.job_id}`);
    expect([answer.status, answer.json.job_id, answer.json.status]).toEqual([200, json.job_id, 'queued']);
  });

  // Section 7: "Status for an unknown job id on `GET /api/jobs/{id}` and on retry: not shown." decisions.md, "unknown job
  // id, malformed id": "404 both."
  it.each(['00000000-0000-4000-8000-000000000000', 'not-a-uuid', '%00', "'; drop table jobs; --", '%F0%9F%8E%AC'])(
    'unknown job id, malformed id: 404 both (%s)',
    async (id) => {
      const answer = await api.call(`/api/jobs/${id}`);
      expect([answer.status, answer.json.code]).toEqual([404, 'not_found']);
    },
  );
});

// "**`POST /api/jobs/{id}/retry`**" "No request body. Only `failed` jobs can be retried. Response: the retry response
// body (section 2).": what is retried is in section-3-states.test.ts, the body in section-2-resources.test.ts, 'has
// `source_job_id`, `strategy` (`retry_tasks`) and `jobs[]` of `{job_id, type, status, retry_of_job_id}`'
describe('`POST /api/jobs/{id}/retry`: "No request body"', () => {
  const path = '/api/jobs/00000000-0000-4000-8000-000000000000/retry';

  it('answers 404 for an unknown job, and for an id that is none', async () => {
    for (const of of [path, '/api/jobs/not-a-uuid/retry', '/api/jobs/%00/retry'])
      expect((await api.call(of, { method: 'POST' })).status).toBe(404);
  });

  it('takes an empty body under the JSON content type, and refuses fields', async () => {
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
    ['DELETE', '/healthz', 'GET, HEAD'],
  ])('%s %s is answered with 405 and what is allowed', async (method, path, allow) => {
    const answer = await api.call(path, { method });
    expect([answer.status, answer.json.code]).toEqual([405, 'method_not_allowed']);
    for (const name of allow.split(', ')) expect(answer.headers.get('allow')).toContain(name);
  });
});

// "### Tracing headers": the rest of it is in section-4-tracing.test.ts.
// "`traceparent` and `tracestate` (W3C Trace Context) are authoritative and are propagated from HTTP requests into
// queued tasks, worker execution and webhook calls."
describe('Tracing headers', () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const traceparent = `00-${traceId}-b7ad6b7169203331-01`;

  it('"`traceparent` and `tracestate` … are propagated from HTTP requests into queued tasks"', async () => {
    const headers = { traceparent, tracestate: 'vendor=1' };
    const answer = await api.submit(video('100.mp4'), headers);
    const job = await api.d.jobs.find(answer.json.job_id);
    expect(job?.trace?.traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
    expect(job?.trace?.traceparent).not.toBe(traceparent);
    expect(job?.trace?.tracestate).toBe('vendor=1');
  });

  it('"`X-Trace-ID` is returned on HTTP responses": the caller\'s, or a new one', async () => {
    expect((await api.call('/healthz', { headers: { traceparent } })).headers.get('x-trace-id')).toBe(traceId);
    const paths = ['/healthz', '/api/jobs/x', '/stream/h/x.mp4', '/nowhere', '/api/key/h', '/stream/h/%zz'];
    for (const path of paths) expect((await api.raw(path)).headers.get('x-trace-id')).toMatch(/^[0-9a-f]{32}$/);
  });

  it.each(['x', '00-00000000000000000000000000000000-b7ad6b7169203331-01', `ff-${traceId}-b7ad6b7169203331-01`])(
    'a malformed traceparent begins a new trace (%s)',
    async (malformed) => {
      const answer = await api.call('/healthz', { headers: { traceparent: malformed } });
      expect(answer.headers.get('x-trace-id')).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
      expect(answer.headers.get('x-trace-id')).not.toBe(traceId);
    },
  );
});
