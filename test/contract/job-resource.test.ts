import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readMediaProfile } from '#domain/kubernetes/media-profile.ts';
import { jobPhases } from '#domain/jobs/status.ts';
import { waitingReasonSchema } from '#domain/jobs/waiting.ts';
import { mediaProfilesSchema } from '#domain/media/profiles.ts';
import { ProfileStore } from '#platform/postgres/profile-store.ts';
import { type ApiUnderTest, startApi } from './api-under-test.ts';
import { partlyFailedResults, thumbnailResults } from './results.ts';

// docs/reference/contract.md, "The Job" and "Equal submissions", as far as the HTTP surface shows it: the Job, equal
// requests, and the answers to a submission and a retry. Results of jobs that have run: job-results.test.ts.

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
let api: ApiUnderTest;
let counter = 0;
const thumbnail = (more: object = {}) => ({ type: 'image:thumbnail', hash: `h${counter++}`, source: 'a.jpg', ...more });

beforeAll(async () => {
  api = await startApi();
  for (const key of ['video.mp4', 's', 'a.mp4', 'b.mp4']) await api.putSource(key, Buffer.alloc(100));
});
afterAll(() => api.close());

describe('the Job', () => {
  it('C13.1, C13.2, C13.8: a Job has its documented fields, with UUIDs and UTC times', async () => {
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
      reason: { code: 'next_in_queue', message: expect.any(String) },
      progress: 0,
      eta: null,
      attempt: 1,
      profile: null,
      callback_status: null,
      retry_of_job_id: null,
      rerun_of_job_id: null,
      source_etag: null,
      error: null,
      results: null,
      results_expired: false,
      usage: {
        processor_seconds: 0,
        processor_fetch_seconds: 0,
        processor_process_seconds: 0,
        processor_publish_seconds: 0,
        pod_seconds: 0,
        wasted_seconds: 0,
      },
      pool: 'default',
      key_id: expect.stringMatching(/^[0-9a-f]{8}$/),
      title: null,
      metadata: {},
      started_at: null,
      finished_at: null,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(json.job_id).toMatch(uuid);
  });

  // C13.3, within an attempt: test/integration/postgres-jobs.test.ts.
  it('C13.4: a completed video:transcode shows progress 95, any other completed job 100', async () => {
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
    const times = ['created_at', 'started_at', 'finished_at', 'updated_at'].map((name) => Date.parse(completed[name]));
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  it('C12.2, C12.4, C12.8: a job that runs is `processing` and shows its phase and its end', async () => {
    const { json } = await api.submit(thumbnail());
    await api.d.jobs.claim({ jobId: json.job_id, attempt: 1, owner: 'test', leaseMs: 60_000 });
    await api.d.jobs.report({ jobId: json.job_id, attempt: 1, phase: 'encoding', progress: 40 });
    expect((await api.call(`/api/jobs/${json.job_id}`)).json).toMatchObject({
      status: 'processing',
      phase: 'encoding',
      progress: 40,
      results: null,
    });
    await api.d.jobs.report({ jobId: json.job_id, attempt: 1, phase: 'encoding', progress: 41 });
    const { eta, updated_at: updatedAt } = (await api.call(`/api/jobs/${json.job_id}`)).json;
    expect(Date.parse(eta ?? '')).toBeGreaterThanOrEqual(Date.parse(updatedAt));
  });

  it('C12.4, C12.6: a job shows each phase that its attempt reports, and each reason that a controller records', async () => {
    const { json } = await api.submit(thumbnail());
    const current = { jobId: json.job_id, attempt: 1 };
    const shown = async () => (await api.call(`/api/jobs/${json.job_id}`)).json;
    await api.d.jobs.claim({ ...current, owner: 'test', leaseMs: 60_000 });
    for (const code of waitingReasonSchema.shape.code.options) {
      await api.d.jobs.recordWaiting(current, { code, message: `for ${code}` });
      expect((await shown()).reason).toEqual({ code, message: `for ${code}` });
    }
    for (const phase of jobPhases) {
      await api.d.jobs.report({ ...current, phase, progress: 0 });
      expect((await shown()).phase).toBe(phase);
    }
  });

  it('C16.1: a Job names the profile of its stream, and null where its type makes none', async () => {
    for (const [type, profile] of [
      ['video:transcode', 'default'],
      ['video:full', 'default'],
      ['video:cover', null],
      ['video:preview', null],
      ['image:thumbnail', null],
    ] as const) {
      const { json } = await api.submit({ type, hash: 'of-profile', source: 'video.mp4' });
      const { profile: named } = (await api.call(`/api/jobs/${json.job_id}`)).json;
      expect([type, named]).toEqual([type, profile]);
    }
  });

  it('C12.5, C12.7: a job shows why it waits until its attempt works', async () => {
    const { json } = await api.submit(thumbnail());
    const shown = async () => (await api.call(`/api/jobs/${json.job_id}`)).json;
    const current = { jobId: json.job_id, attempt: 1 };
    const reason = { code: 'unschedulable', message: '0/3 nodes are available.' } as const;
    await api.d.jobs.recordWaiting(current, reason);
    await api.d.jobs.claim({ ...current, owner: 'test', leaseMs: 60_000 });
    expect((await shown()).reason, 'of the time before the claim').toBeNull();
    await api.d.jobs.recordWaiting(current, reason);
    const waiting = await shown();
    expect(waiting.reason).toEqual(reason);
    expect((await api.call(`/api/jobs?hash=${json.hash}`)).json.jobs[0].reason, 'recorded').toEqual(reason);
    await api.d.jobs.recordWaiting(current, reason);
    await api.d.jobs.recordWaiting({ ...current, attempt: 2 }, null);
    await api.d.jobs.report({ ...current, phase: 'scheduling', progress: 0 });
    expect(await shown(), 'neither repeated nor late calls change it').toEqual(waiting);
    await api.d.jobs.report({ ...current, phase: 'encoding', progress: 40 });
    expect((await shown()).reason).toBeNull();
  });

  it('C12.5: a job that ends while it waits shows no reason any more', async () => {
    const { json } = await api.submit(thumbnail());
    const current = { jobId: json.job_id, attempt: 1 };
    await api.d.jobs.claim({ ...current, owner: 'test', leaseMs: 60_000 });
    await api.d.jobs.recordWaiting(current, { code: 'unschedulable', message: '0/3 nodes are available.' });
    const { json: ended } = await api.call(`/api/jobs/${json.job_id}/cancel`, { method: 'POST' });
    expect(ended).toMatchObject({ status: 'cancelled', reason: null });
  });

  it('C12.5, C12.6, C12.7: a queued job shows how many are ahead of it, what delays it, and an outage of the storage', async () => {
    const { database, jobs } = api.d;
    await database.pool.query('delete from jobs');
    const [first, second] = [(await api.submit(thumbnail())).json, (await api.submit(thumbnail())).json];
    const reasonOf = async ({ job_id: id }: { job_id: string }) => (await api.call(`/api/jobs/${id}`)).json.reason;
    expect(await reasonOf(first)).toEqual({
      code: 'next_in_queue',
      message: 'It is the next of its queue, of which nothing runs.',
    });
    expect((await api.call(`/api/jobs?hash=${first.hash}`)).json.jobs[0].reason, 'not recorded').toBeNull();
    await database.pool.query('update jobs set priority = -1 where id = $1', [first.job_id]);
    expect(await reasonOf(second), 'a lower priority is not ahead').toMatchObject({ code: 'next_in_queue' });
    await database.pool.query('update jobs set priority = 0 where id = $1', [first.job_id]);
    expect(await reasonOf(second)).toEqual({
      code: 'behind_others',
      message: '1 waiting job is ahead; 0 jobs of its queue run.',
    });
    await database.pool.query('update jobs set priority = 1 where id = $1', [second.job_id]);
    expect(await reasonOf(second), 'of a higher priority').toMatchObject({ code: 'next_in_queue' });
    await database.pool.query('update jobs set priority = 0 where id = $1', [second.job_id]);
    expect((await jobs.oldestWaitingSeconds()).default).toBeGreaterThan(0);
    const claim = { jobId: first.job_id, attempt: 1 };
    await jobs.claim({ ...claim, owner: 'test', leaseMs: 60_000 });
    expect(await reasonOf(first)).toBeNull();
    expect(await reasonOf(second)).toMatchObject({ code: 'pool_full', message: expect.stringContaining('; 1 job of') });
    await jobs.nextAttempt({ ...claim, countsAsFailure: true, delayMs: 60_000 });
    expect(await reasonOf(first)).toMatchObject({ code: 'next_attempt_later' });
    expect((await api.call(`/api/jobs?hash=${first.hash}`)).json.jobs[0].reason.code).toBe('next_attempt_later');
    await database.pool.query(`update jobs set not_before = now() - interval '1 second' where id = $1`, [first.job_id]);
    expect(await reasonOf(first), 'from then on').toMatchObject({ code: 'next_in_queue' });
    await jobs.recordStorageOutage();
    expect(await reasonOf(second)).toMatchObject({ code: 'storage_outage' });
    const listed = (await api.call('/api/jobs')).json.jobs as { reason: { code: string } | null }[];
    expect(listed.map(({ reason }) => reason?.code)).toEqual(['storage_outage', 'storage_outage']);
    // Workers record it every few seconds while it lasts.
    await database.pool.query(`update storage_outage set seen_at = now() - interval '16 seconds'`);
    expect(await reasonOf(second), 'no longer recorded').toMatchObject({ code: 'behind_others' });
    await jobs.recordStorageOutage();
    expect(await reasonOf(second), 'recorded again').toMatchObject({ code: 'storage_outage' });
    await database.pool.query('delete from storage_outage');
  });

  it('a queued job counts at most 1,000 that run, of however many there are', async () => {
    const { pool } = api.d.database;
    await pool.query('delete from jobs');
    const { json } = await api.submit(thumbnail());
    await pool.query(`
      insert into jobs (id, type, hash, source, options, idempotency_key, queue, status, lease_owner, lease_expires_at)
      select gen_random_uuid(), 'image:thumbnail', 'h', 's', '{}', n::text, 'default', 'processing', 'w', 'infinity'
      from generate_series(1, 1200) as n`);
    const { reason } = (await api.call(`/api/jobs/${json.job_id}`)).json;
    await pool.query('delete from jobs');
    expect(reason.message).toBe('It is the next of its queue; more than 1000 jobs of its queue run.');
  });

  it('C13.5, C21.19: a failed job shows its error, and callback_status is pending from then on', async () => {
    const { json } = await api.submit(thumbnail({ callback_url: 'https://example.com/hook' }));
    expect((await api.call(`/api/jobs/${json.job_id}`)).json.callback_status).toBeNull();
    await api.fail(json.job_id);
    expect((await api.call(`/api/jobs/${json.job_id}`)).json).toMatchObject({
      status: 'failed',
      callback_status: 'pending',
      error: { code: 'storage_error', message: 'Object storage failed.', retryable: true, attempt: 1 },
    });
  });

  it('C13.10, C13.11: a Job carries an ETag that answers 304 until it changes, and Retry-After while it is active', async () => {
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

describe('equal requests', () => {
  it('C11.24, C11.25: written defaults, another order of names and another callback make an equal submission', async () => {
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
  ])('C11.24: a submission with another `%s` is not equal', async (field, change) => {
    const submission = { type: 'video:preview', hash: `differs-${field}`, source: 'a.mp4' };
    const first = await api.submit(submission);
    const other = await api.submit({ ...submission, ...change });
    expect([first.status, other.status]).toEqual([202, 202]);
  });

  it('C11.24, C16.2: a rule of MEDIA_PROFILES chooses the profile, and equal submissions find the job without the source', async () => {
    const mediaProfiles = mediaProfilesSchema.parse({ rules: [{ source_prefix: 'phone/', profile: 'mobile' }] });
    const other = await startApi({ mediaProfiles });
    try {
      await other.putSource('phone/v.mp4', Buffer.alloc(100));
      const body = { type: 'video:transcode', hash: 'phone', source: 'phone/v.mp4' };
      const { json } = await other.submit(body);
      expect((await other.call(`/api/jobs/${json.job_id}`)).json).toMatchObject({ profile: 'mobile' });
      await other.d.source.delete(['phone/v.mp4']);
      expect((await other.submit(body)).json).toMatchObject({ job_id: json.job_id });
      const cover = await other.submit({ ...body, type: 'video:cover' });
      expect(cover.status).toBe(400);
    } finally {
      await other.close();
    }
  });

  it('C11.24, C16.2: a MediaProfile chooses by its rule at once, and a changed or removed one makes no new job', async () => {
    const source = 'cluster/v.mp4';
    const published = async (crf: number) => {
      const read = readMediaProfile('cluster', { crf, rules: [{ source_prefix: 'cluster/' }] });
      await new ProfileStore(api.d.database).replace('entry' in read ? [read.entry] : []);
      return (await api.submit({ type: 'video:transcode', hash: 'cluster', source })).json;
    };
    await api.putSource(source, Buffer.alloc(100));
    const first = await published(30);
    expect((await api.call(`/api/jobs/${first.job_id}`)).json).toMatchObject({ profile: 'cluster' });
    expect(await published(31)).toMatchObject({ job_id: first.job_id, profile: 'cluster' });
    await new ProfileStore(api.d.database).replace([]);
    await api.d.source.delete([source]);
    const equal = { type: 'video:transcode', hash: 'cluster', source };
    expect((await api.submit(equal)).json).toMatchObject({ job_id: first.job_id, profile: 'cluster' });
    await api.complete(first.job_id, thumbnailResults);
    expect((await api.submit(equal)).json).toMatchObject({ status: 'completed', profile: 'cluster' });
    const otherOptions = await api.submit({ ...equal, options: { encrypt: true } });
    expect(otherOptions.status).toBe(400);
  });

  it('C11.26: 100 equal submissions at once make one row and one ticket', async () => {
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

describe('the answer to a submission', () => {
  it('C11.31: a new job is answered with job_id, hash and the status queued', async () => {
    const submission = thumbnail();
    const answer = await api.submit(submission);
    expect(answer.status).toBe(202);
    expect(answer.json).toEqual({ job_id: expect.stringMatching(uuid), hash: submission.hash, status: 'queued' });
    expect(answer.headers.get('location')).toBe(`/api/jobs/${answer.json.job_id}`);
  });

  it('C11.32: an equal submission of an active job is answered with the whole Job', async () => {
    const submission = thumbnail();
    const first = await api.submit(submission);
    const again = await api.submit(submission);
    expect(again.status).toBe(200);
    const { usage: _usage, ...job } = (await api.call(`/api/jobs/${first.json.job_id}`)).json;
    expect(again.json).toEqual(job);
  });

  it('C11.33: an equal submission of a completed job is answered with its names, status, profile and results', async () => {
    const submission = thumbnail();
    const first = await api.submit(submission);
    await api.complete(first.json.job_id, thumbnailResults);
    const again = await api.submit(submission);
    expect(again.status).toBe(200);
    const added = { job_id: first.json.job_id, type: 'image:thumbnail', profile: null };
    expect(again.json).toEqual({ ...added, hash: submission.hash, status: 'completed', results: thumbnailResults });
  });
});

describe('the answer to a retry', () => {
  it('C13.19: a retry is answered with source_job_id, strategy and its new jobs', async () => {
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
