import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiUnderTest, startApi } from './api-under-test.ts';
import { partlyFailedResults, thumbnailResults } from './results.ts';

// Section 2, "Resources and their fields", as far as the HTTP surface shows them. The shapes of results, of jobs that have
// run: section-2-results.test.ts. The request body and the options: section-2-request.test.ts. "### Playback token payload": section-5-authentication.test.ts.

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
let api: ApiUnderTest;
let counter = 0;
const thumbnail = (more: object = {}) => ({ type: 'image:thumbnail', hash: `h${counter++}`, source: 'a.jpg', ...more });

beforeAll(async () => {
  api = await startApi();
  await api.putSource('video.mp4', Buffer.alloc(100));
});
afterAll(() => api.close());

describe('Job (as returned by `GET /api/jobs/{id}`)', () => {
  // "| `job_id` | string (UUID) | |
  // | `type` | string | one of the job types above |
  // | `hash` | string | caller-chosen stable media identifier; need not be a SHA-256 digest |
  // | `status` | string | values seen: `queued`, `completed`, `failed` |
  // | `callback_status` | string | values seen: `sent`, `callback_failed` |
  // | `progress` | integer | progress value (a completed transcode job shows 95) |
  // | `retry_of_job_id` | string (UUID) | set on jobs created by a retry; identifies the failed job |
  // | `error` | string/object | error information of a failed job |
  // | `results` | object | final results, shape depends on type (below) |
  // | `created_at` | string | ISO 8601 UTC timestamp |
  // | `updated_at` | string | ISO 8601 UTC timestamp |"
  // decisions.md: "A finer `phase` is added to the Job: `admitted, scheduling, probing, encoding, packaging,
  // publishing`."
  it('has the fields of the table, with `phase` and `attempt` beside them', async () => {
    const submission = thumbnail();
    const { json } = await api.submit(submission);
    const job = await api.call(`/api/jobs/${json.job_id}`);
    expect(job.status).toBe(200);
    expect(job.json).toEqual({
      job_id: json.job_id,
      type: 'image:thumbnail',
      hash: submission.hash,
      status: 'queued',
      phase: null,
      progress: 0,
      attempt: 1,
      callback_status: null,
      retry_of_job_id: null,
      error: null,
      results: null,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(json.job_id).toMatch(uuid);
  });

  // decisions.md: "integer 0–100, never falls within an attempt; `status` alone says done. A completed `video:transcode`
  // shows 95 (the specification shows it); every other completed type shows 100."
  // "never falls": test/integration/postgres-jobs.test.ts, 'neither progress nor phase falls within an attempt, in whatever order reports come'
  it('`progress`: "a completed transcode job shows 95"; every other completed type shows 100', async () => {
    const transcode = await api.submit({ type: 'video:transcode', hash: 'progress', source: 'video.mp4' });
    // oxlint-disable-next-line typescript/no-explicit-any -- the shape is not what this test is about
    await api.complete(transcode.json.job_id, {} as any);
    expect((await api.call(`/api/jobs/${transcode.json.job_id}`)).json).toMatchObject({
      status: 'completed',
      progress: 95,
    });
    const image = await api.submit(thumbnail());
    await api.complete(image.json.job_id, thumbnailResults);
    const completed = (await api.call(`/api/jobs/${image.json.job_id}`)).json;
    expect(completed).toMatchObject({ status: 'completed', progress: 100, error: null, phase: null });
    expect(completed.results).toEqual(thumbnailResults);
    expect(Date.parse(completed.updated_at)).toBeGreaterThanOrEqual(Date.parse(completed.created_at));
  });

  // "Complete set of `status` values: not shown beyond `queued`, `completed`, `failed`."
  // decisions.md: "`queued → processing → completed | failed | cancelled`." "`cancelled` is terminal"
  it('`status` is `processing` while a job runs, with the `phase` that it is in', async () => {
    const { json } = await api.submit(thumbnail());
    await api.d.jobs.claim({ jobId: json.job_id, attempt: 1, owner: 'test', leaseMs: 60_000 });
    await api.d.jobs.report({ jobId: json.job_id, attempt: 1, phase: 'encoding', progress: 40 });
    expect((await api.call(`/api/jobs/${json.job_id}`)).json).toMatchObject({
      status: 'processing',
      phase: 'encoding',
      progress: 40,
      results: null,
    });
  });

  // "Format of the job-level `error` field: not shown."
  // decisions.md: "`{code, message, stage?, retryable, attempt, details?}`. `code` is from one closed, documented
  // list", "`message` is for people and holds no tool output; the last 4 kB of the tool's stderr, with keys and URLs
  // redacted, goes into `details.log_tail`.": domain/job-error.test.ts, 'a known problem keeps its code, its
  // message, its stage and the end of its log'; test/integration/runner-processes.test.ts, 'leaves the end of what it
  // said, without keys and addresses'
  it('`error`: "error information of a failed job"; `callback_status` is pending from the end on', async () => {
    const { json } = await api.submit(thumbnail({ callback_url: 'https://example.com/hook' }));
    expect((await api.call(`/api/jobs/${json.job_id}`)).json.callback_status).toBeNull();
    await api.fail(json.job_id);
    expect((await api.call(`/api/jobs/${json.job_id}`)).json).toMatchObject({
      status: 'failed',
      callback_status: 'pending',
      error: { code: 'storage_error', message: 'Object storage failed.', retryable: true, attempt: 1 },
    });
  });

  // decisions.md, "is `GET /api/jobs/{id}` limited": "no; it carries an `ETag`, and `Retry-After` as a hint while the
  // job is active."
  it('carries an ETag that answers 304 until something changes, and says when to ask again while it is active', async () => {
    const { json } = await api.submit(thumbnail());
    const first = await api.call(`/api/jobs/${json.job_id}`);
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[\w-]+"$/);
    expect(Number(first.headers.get('retry-after'))).toBeGreaterThan(0);
    const again = await api.call(`/api/jobs/${json.job_id}`, { headers: { 'if-none-match': etag } });
    expect([again.status, again.text]).toEqual([304, '']);
    await api.complete(json.job_id, thumbnailResults);
    const changed = await api.call(`/api/jobs/${json.job_id}`, { headers: { 'if-none-match': etag } });
    expect(changed.status).toBe(200);
    expect(changed.headers.has('retry-after')).toBe(false);
  });
});

// "Idempotency key: `type` + `hash` + `source` + canonicalized `options`."
// decisions.md: "key = SHA-256 of the RFC 8785 canonical JSON of `{type, hash, source, options}` with defaults filled
// in. A partial unique index over the non-failed, non-cancelled rows decides; insert-or-return is one statement.
// `callback_url` is not part of it. 100 equal requests at once make one job."
describe('Idempotency key: `type` + `hash` + `source` + canonicalized `options`', () => {
  it('is met by defaults written down, by another order, and by another callback', async () => {
    const first = await api.submit({ type: 'video:preview', hash: 'same', source: 's' });
    const options = { format: 'webp', fps: 10.0, width: 480, duration: 3, start_sec: 0 };
    const callback = 'https://example.com/';
    const again = await api.submit({
      options,
      source: 's',
      hash: 'same',
      callback_url: callback,
      type: 'video:preview',
    });
    expect([first.status, again.status]).toEqual([202, 200]);
    expect(again.json.job_id).toBe(first.json.job_id);
  });

  it.each([
    ['type', { type: 'video:cover' }],
    ['hash', { hash: 'another' }],
    ['source', { source: 'b.mp4' }],
    ['options', { options: { fps: 11 } }],
  ])('is another one when `%s` differs', async (field, change) => {
    const submission = { type: 'video:preview', hash: `differs-${field}`, source: 'a.mp4' };
    const first = await api.submit(submission);
    const other = await api.submit({ ...submission, ...change });
    expect([first.status, other.status]).toEqual([202, 202]);
  });

  it('100 equal submissions at once make one row and one ticket', async () => {
    const submission = thumbnail();
    const before = (await api.d.queue.depth()).default.pending;
    const answers = await Promise.all(Array.from({ length: 100 }, () => api.submit(submission)));
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(99);
    expect(new Set(answers.map(({ json }) => json.job_id)).size).toBe(1);
    expect((await api.d.queue.depth()).default.pending).toBe(before + 1);
    const { rows } = await api.d.database.pool.query('select 1 from jobs where hash = $1', [submission.hash]);
    expect(rows).toHaveLength(1);
  });
});

describe('Create-job response bodies', () => {
  // "| new job (202) | `job_id`, `hash`, `status` (`queued`) |"
  it('new job (202): `job_id`, `hash`, `status` (`queued`)', async () => {
    const submission = thumbnail();
    const answer = await api.submit(submission);
    expect(answer.status).toBe(202);
    expect(answer.json).toEqual({ job_id: expect.stringMatching(uuid), hash: submission.hash, status: 'queued' });
    expect(answer.headers.get('location')).toBe(`/api/jobs/${answer.json.job_id}`);
  });

  // "| idempotency hit on an active job (200) | the existing job |"
  it('idempotency hit on an active job (200): the existing job', async () => {
    const submission = thumbnail();
    const first = await api.submit(submission);
    const again = await api.submit(submission);
    expect(again.status).toBe(200);
    expect(again.json).toEqual((await api.call(`/api/jobs/${first.json.job_id}`)).json);
  });

  // "| idempotency hit on a completed job (200) | `hash`, `status` (`completed`), `results` |"
  it('idempotency hit on a completed job (200): `hash`, `status` (`completed`), `results`', async () => {
    const submission = thumbnail();
    const first = await api.submit(submission);
    await api.complete(first.json.job_id, thumbnailResults);
    const again = await api.submit(submission);
    expect(again.status).toBe(200);
    expect(again.json).toEqual({ hash: submission.hash, status: 'completed', results: thumbnailResults });
  });
});

describe('Retry response body', () => {
  // "| `source_job_id` | string (UUID) |
  // | `strategy` | string (value seen: `retry_tasks`) |
  // | `jobs[]` | array of `{job_id, type, status, retry_of_job_id}` |"
  it('has `source_job_id`, `strategy` (`retry_tasks`) and `jobs[]` of `{job_id, type, status, retry_of_job_id}`', async () => {
    const first = await api.submit({ type: 'video:full', hash: 'retry-body', source: 'video.mp4' });
    await api.fail(first.json.job_id, partlyFailedResults());
    const answer = await api.call(`/api/jobs/${first.json.job_id}/retry`, { method: 'POST' });
    expect(answer.status).toBe(202);
    const job = (type: string) => ({
      job_id: expect.stringMatching(uuid),
      type,
      status: 'queued',
      retry_of_job_id: first.json.job_id,
    });
    expect(answer.json).toEqual({
      source_job_id: first.json.job_id,
      strategy: 'retry_tasks',
      jobs: [job('video:preview'), job('video:transcode')],
    });
  });
});
