import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiUnderTest, startApi } from './api-under-test.ts';
import { partlyFailedResults, thumbnailResults } from './results.ts';

// Section 2, "Resources and their fields", as far as the HTTP surface shows them.

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
    expect((await api.call(`/api/jobs/${image.json.job_id}`)).json).toMatchObject({
      status: 'completed',
      progress: 100,
    });
  });

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

describe('Create-job request body', () => {
  const body = { type: 'video:full', hash: 'body', source: 'video.mp4' };

  it.each([
    ['`type` is required', { ...body, type: undefined }, ['/type']],
    ['`hash` is required', { ...body, hash: undefined }, ['/hash']],
    ['`source` is required', { ...body, source: undefined }, ['/source']],
    ['`type` is one of five', { ...body, type: 'video:other' }, ['/type']],
    ['"Unknown fields anywhere in the body are rejected"', { ...body, other: 1 }, ['/other']],
    [
      '"Unknown fields anywhere" (in the options)',
      { ...body, options: { preview: { speed: 1 } } },
      ['/options/preview/speed'],
    ],
    ['"`source_bucket` is not a valid field"', { ...body, source_bucket: 'other' }, ['/source_bucket']],
    [
      '"Legacy flat options are rejected"',
      { ...body, options: { timestamp_sec: 1, encrypt: true } },
      ['/options/timestamp_sec', '/options/encrypt'],
    ],
    [
      'all faults at once',
      { type: 'image:thumbnail', hash: '..', source: '/x', options: { outputs: [{ width: 0 }] } },
      ['/hash', '/source', '/options/outputs/0/variant', '/options/outputs/0/width', '/options/outputs/0/format'],
    ],
    ['a body that is no object', [], ['']],
  ])('%s', async (_, submission, pointers) => {
    const answer = await api.submit(submission);
    expect(answer.status).toBe(400);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    const found: string[] = answer.json.errors.map((fault: { pointer: string }) => fault.pointer);
    expect(new Set(found)).toEqual(new Set(pointers));
    expect(answer.json).toMatchObject({ status: 400, code: 'invalid_request', instance: '/api/jobs' });
  });

  it.each([
    ['image:thumbnail', { outputs: [{ variant: 'a', width: 10, format: 'jpg' }] }],
    ['video:cover', { timestamp_sec: 1.5 }],
    ['video:preview', { start_sec: 1, duration: 2, width: 320, fps: 5, format: 'gif' }],
    ['video:transcode', { encrypt: true }],
    ['video:full', { cover: { timestamp_sec: 1 }, preview: { fps: 5 }, transcode: { encrypt: true } }],
  ])('%s takes the options of its row', async (type, options) => {
    expect((await api.submit({ type, hash: `o${counter++}`, source: 'video.mp4', options })).status).toBe(202);
  });

  it('`outputs` omitted: "a single output with variant `thumb`, width 300, format `webp`"', async () => {
    const { json } = await api.submit(thumbnail());
    const job = await api.d.jobs.find(json.job_id);
    expect(job?.options).toEqual({ outputs: [{ variant: 'thumb', width: 300, format: 'webp' }] });
  });

  it.each([
    'http://127.0.0.1/',
    'http://169.254.169.254/latest/meta-data',
    'http://[::ffff:10.0.0.1]/',
    'http://2130706433/',
    'ftp://example.com/',
    'https://user:secret@example.com/',
  ])('a callback_url that cannot be allowed is refused at once: %s', async (url) => {
    const answer = await api.submit(thumbnail({ callback_url: url }));
    expect(answer.status).toBe(400);
    expect(answer.json.errors).toMatchObject([{ pointer: '/callback_url' }]);
  });
});

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
  it('new job (202): `job_id`, `hash`, `status` (`queued`)', async () => {
    const submission = thumbnail();
    const answer = await api.submit(submission);
    expect(answer.status).toBe(202);
    expect(answer.json).toEqual({ job_id: expect.stringMatching(uuid), hash: submission.hash, status: 'queued' });
    expect(answer.headers.get('location')).toBe(`/api/jobs/${answer.json.job_id}`);
  });

  it('idempotency hit on an active job (200): the existing job', async () => {
    const submission = thumbnail();
    const first = await api.submit(submission);
    const again = await api.submit(submission);
    expect(again.status).toBe(200);
    expect(again.json).toEqual((await api.call(`/api/jobs/${first.json.job_id}`)).json);
  });

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
