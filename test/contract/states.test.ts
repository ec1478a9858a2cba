import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { mediaProfilesSchema } from '#domain/media/profiles.ts';
import type { TicketQueue } from '#platform/queue/ticket-queue.ts';
import { type ApiUnderTest, startApi } from './api-under-test.ts';
import { partlyFailedResults, previewResults, thumbnailResults } from './results.ts';

// docs/reference/contract.md, "Status and attempts": the states that requests bring about. What happens while a job
// runs is shown in domain/jobs/status.test.ts and test/integration/postgres-job-ends.test.ts.

let api: ApiUnderTest;
let counter = 0;
const thumbnail = () => ({ type: 'image:thumbnail', hash: `s${counter++}`, source: 'a.jpg' });
const retry = (jobId: string) => api.call(`/api/jobs/${jobId}/retry`, { method: 'POST' });

/** The jobs that a retry of both stages of a `video:full` makes: type, profile and priority of each. */
const stagesWith = (profile: string | undefined, priority: number) => [
  ['video:preview', undefined, priority],
  ['video:transcode', profile, priority],
];

/** The tickets that lie in both queues, whatever their state. */
async function tickets(queue: TicketQueue): Promise<number> {
  const depth = await queue.depth();
  return Object.values(depth).reduce((sum, { pending, active, retry: later }) => sum + pending + active + later, 0);
}

beforeAll(async () => {
  const rules = [{ source_prefix: 'phone/', profile: 'mobile' }];
  api = await startApi({ mediaProfiles: mediaProfilesSchema.parse({ profiles: { small: { crf: 30 } }, rules }) });
  for (const key of ['video.mp4', 'phone/video.mp4']) await api.putSource(key, Buffer.alloc(100));
});
afterAll(() => api.close());

describe('submissions', () => {
  it('C11.27: a submission without an equal one makes a queued job with a ticket', async () => {
    const before = await tickets(api.d.queue);
    const answer = await api.submit(thumbnail());
    expect([answer.status, answer.json.status]).toEqual([202, 'queued']);
    expect(await tickets(api.d.queue)).toBe(before + 1);
  });

  it('C11.28: an equal submission changes nothing and adds no second ticket', async () => {
    const submission = thumbnail();
    const { json } = await api.submit(submission);
    const shown = await api.call(`/api/jobs/${json.job_id}`);
    const before = await tickets(api.d.queue);
    expect((await api.submit(submission)).status).toBe(200);
    await api.complete(json.job_id, thumbnailResults);
    const again = await api.submit(submission);
    expect([again.status, again.json.results]).toEqual([200, thumbnailResults]);
    expect(await tickets(api.d.queue)).toBe(before);
    expect(shown.json).toMatchObject({ status: 'queued', job_id: json.job_id });
  });

  it('C21.18, C21.19: callback_status is null without a callback_url and before the end, and then pending', async () => {
    const callbackStatus = async (id: string) => (await api.call(`/api/jobs/${id}`)).json.callback_status;
    const { json: silent } = await api.submit(thumbnail());
    const { json: called } = await api.submit({ ...thumbnail(), callback_url: 'https://example.com/hook' });
    expect([await callbackStatus(silent.job_id), await callbackStatus(called.job_id)]).toEqual([null, null]);
    for (const { job_id: id } of [silent, called]) await api.complete(id, thumbnailResults);
    expect([await callbackStatus(silent.job_id), await callbackStatus(called.job_id)]).toEqual([null, 'pending']);
  });

  it('C11.30: an equal submission is answered after its source was deleted', async () => {
    await api.putSource('deleted.mp4', 'x');
    const submission = { type: 'video:transcode', hash: 'deleted', source: 'deleted.mp4' };
    const first = await api.submit(submission);
    await api.d.source.delete(['deleted.mp4']);
    const again = await api.submit(submission);
    expect([first.status, again.status]).toEqual([202, 200]);
    expect(again.json.job_id).toBe(first.json.job_id);
  });

  it('C11.29: a submission makes a new job after an equal one has failed', async () => {
    const submission = thumbnail();
    const first = await api.submit(submission);
    await api.fail(first.json.job_id);
    const again = await api.submit(submission);
    expect(again.status).toBe(202);
    expect(again.json.job_id).not.toBe(first.json.job_id);
  });

  it('C22.5: an equal submission of a queued job puts a lost ticket back', async () => {
    const submission = thumbnail();
    const { json } = await api.submit(submission);
    await api.d.queue.remove({ jobId: json.job_id, attempt: 1, queue: 'default' });
    const before = await tickets(api.d.queue);
    expect((await api.submit(submission)).status).toBe(200);
    expect(await tickets(api.d.queue)).toBe(before + 1);
  });
});

describe('retries', () => {
  it('C13.20, C13.21: a retry of a failed job makes one queued job that names it', async () => {
    const { json } = await api.submit(thumbnail());
    await api.fail(json.job_id);
    const answer = await retry(json.job_id);
    expect(answer.json.jobs).toMatchObject([{ type: 'image:thumbnail', status: 'queued' }]);
    const made = await api.call(`/api/jobs/${answer.json.jobs[0].job_id}`);
    expect(made.json).toMatchObject({ status: 'queued', retry_of_job_id: json.job_id });
    expect((await api.call(`/api/jobs/${json.job_id}`)).json.status).toBe('failed');
  });

  it("C13.21, C25.16: a retry keeps the failed job's webhook and takes the trace of its own request", async () => {
    const callbackUrl = 'https://example.com/hook';
    const { json } = await api.submit({ ...thumbnail(), callback_url: callbackUrl });
    await api.fail(json.job_id);
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01`, tracestate: 'vendor=1' };
    const answer = await api.call(`/api/jobs/${json.job_id}/retry`, { method: 'POST', headers });
    const made = await api.d.jobs.find(answer.json.jobs[0].job_id);
    expect(made).toMatchObject({ callbackUrl, trace: { tracestate: 'vendor=1' } });
    expect(made?.trace?.traceparent).toContain(traceId);
  });

  it('C13.23, C22.12: a retry of a job that has not failed answers 409 and makes no job', async () => {
    const queued = await api.submit(thumbnail());
    const completed = await api.submit(thumbnail());
    await api.complete(completed.json.job_id, thumbnailResults);
    const before = await tickets(api.d.queue);
    for (const { json } of [queued, completed]) {
      const answer = await retry(json.job_id);
      expect([answer.status, answer.json.code]).toEqual([409, 'not_retryable']);
    }
    expect(await tickets(api.d.queue)).toBe(before);
  });

  it('C13.24: ten retries at once make one, and the others answer 409', async () => {
    const { json } = await api.submit(thumbnail());
    await api.fail(json.job_id);
    // The failed job's row is held until several have come to it, so that none is ahead of the others.
    const holder = await api.d.database.pool.connect();
    await holder.query('begin');
    await holder.query('select 1 from jobs where id = $1 for update', [json.job_id]);
    const retries = Promise.all(Array.from({ length: 10 }, () => retry(json.job_id)));
    const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await expect.poll(async () => (await api.d.listDatabase.pool.query(waiting)).rowCount).toBeGreaterThan(2);
    await holder.query('commit');
    holder.release();
    const statuses = (await retries).map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([202, ...Array<number>(9).fill(409)]);
  });

  it('C13.20, C13.21: a retry of a video:full redoes its failed stages alone, with their own options and the measured source', async () => {
    const options = { cover: { timestamp_sec: 2 }, preview: { fps: 7 }, transcode: { encrypt: true } };
    const { json } = await api.submit({ type: 'video:full', hash: 'stages', source: 'video.mp4', options });
    await api.fail(json.job_id, partlyFailedResults());
    const answer = await retry(json.job_id);
    const ids: string[] = answer.json.jobs.map((job: { job_id: string }) => job.job_id);
    const jobs = await Promise.all(ids.map((id) => api.d.jobs.find(id)));
    expect(jobs).toMatchObject([
      { type: 'video:preview', hash: 'stages', options: { fps: 7 }, sourceSizeBytes: 100 },
      { type: 'video:transcode', hash: 'stages', options: { encrypt: true }, sourceSizeBytes: 100 },
    ]);
  });

  it('C13.21: a retry has the priority and the profile of the failed job, or a chosen one where that is deleted', async () => {
    const video = { type: 'video:full', source: 'phone/video.mp4' };
    const retried = async (headers: Record<string, string>, profileNow?: string) => {
      const { json } = await api.submit({ ...video, hash: `s${counter++}` }, headers);
      await api.fail(json.job_id, partlyFailedResults());
      if (profileNow !== undefined)
        await api.d.database.pool.query(`update jobs set profile = $2 where id = $1`, [
          json.job_id,
          { crf: 30, name: profileNow },
        ]);
      const ids = (await retry(json.job_id)).json.jobs.map(({ job_id: id }: { job_id: string }) => id) as string[];
      const jobs = await Promise.all(ids.map((id) => api.d.jobs.find(id)));
      return jobs.map((job) => [job?.type, job?.profile?.name, job?.priority]);
    };
    expect(await retried({ 'x-profile': 'small', 'x-priority': '7' })).toEqual(stagesWith('small', 7));
    expect(await retried({})).toEqual(stagesWith('mobile', 0));
    expect(await retried({ 'x-profile': 'default' })).toEqual(stagesWith(undefined, 0));
    expect(await retried({ 'x-profile': 'small' }, 'deleted')).toEqual(stagesWith('mobile', 0));
  });

  it('C13.22: a retry names an equal job that is active or completed instead of making a second one', async () => {
    const transcode = { type: 'video:transcode', hash: 'shared', source: 'video.mp4', options: { encrypt: true } };
    const full = { ...transcode, type: 'video:full', options: { transcode: transcode.options } };
    const { json: failed } = await api.submit(full);
    await api.fail(failed.job_id, partlyFailedResults());
    const { json: alive } = await api.submit(transcode);
    const before = await tickets(api.d.queue);
    const answer = await retry(failed.job_id);
    expect(answer.status).toBe(202);
    expect(answer.json.jobs).toMatchObject([
      { type: 'video:preview', status: 'queued', retry_of_job_id: failed.job_id },
      { job_id: alive.job_id, type: 'video:transcode', status: 'queued', retry_of_job_id: null },
    ]);
    expect(await tickets(api.d.queue)).toBe(before + 1);
    expect(await retry(failed.job_id)).toMatchObject({ status: 409, json: { code: 'conflict' } });

    // The preview of the first retry is completed, and serves another workflow's as well.
    await api.complete(answer.json.jobs[0].job_id, previewResults);
    const { json: other } = await api.submit({ ...full, options: { ...full.options, cover: { timestamp_sec: 1 } } });
    await api.fail(other.job_id, partlyFailedResults());
    expect((await retry(other.job_id)).json.jobs).toMatchObject([
      { job_id: answer.json.jobs[0].job_id, status: 'completed', retry_of_job_id: failed.job_id },
      { job_id: alive.job_id, status: 'queued', retry_of_job_id: null },
    ]);
  });

  it('a retry is accepted while the queue is away, and the sweeper adds the tickets of its jobs', async () => {
    const { json } = await api.submit(thumbnail());
    await api.fail(json.job_id);
    const add = vi.spyOn(api.d.queue, 'add').mockRejectedValueOnce(new Error('away'));
    const answer = await retry(json.job_id);
    add.mockRestore();
    expect(answer.status).toBe(202);
    const waiting = await api.d.jobs.withoutTicket({ olderThanMs: -1000, limit: 1000 });
    expect(waiting.map(({ jobId }) => jobId)).toContain(answer.json.jobs[0].job_id);
  });

  it('C13.25: a retry that the plan does not allow answers 409 with the reason', async () => {
    const { json } = await api.submit({ type: 'video:full', hash: 'hopeless', source: 'video.mp4' });
    await api.fail(json.job_id, partlyFailedResults(false));
    const answer = await retry(json.job_id);
    expect(answer.status).toBe(409);
    expect(answer.json.detail).toBe('No failed stage can end differently with the same source.');
  });

  it('C22.12: a retry of a video whose source was deleted answers 409', async () => {
    await api.putSource('going.mp4', 'x');
    const { json } = await api.submit({ type: 'video:transcode', hash: 'going', source: 'going.mp4' });
    await api.fail(json.job_id);
    await api.d.source.delete(['going.mp4']);
    expect((await retry(json.job_id)).status).toBe(409);
  });
});
