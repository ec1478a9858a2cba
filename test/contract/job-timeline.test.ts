import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { UnitRun } from '#domain/work/unit-run.ts';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// docs/reference/contract.md, "Jobs": `GET /api/jobs/{id}/timeline`.

const missing = '00000000-0000-4000-8000-000000000000';
const owner = `worker-1:7:${missing}`;
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/) as string;
const ranUnit: UnitRun = {
  unit: 'whole',
  chunk: null,
  pod: null,
  steps: [
    { step: 'fetch', started_at: '2026-11-24T08:00:00.000Z', duration_ms: 900, processor_ms: 310, code: null },
    {
      step: 'process',
      started_at: '2026-11-24T08:00:01.000Z',
      duration_ms: 40,
      processor_ms: null,
      code: 'storage_error',
    },
  ],
};

describe('the timeline of a job in its row', () => {
  let api: ApiUnderTest;
  beforeAll(async () => {
    api = await startApi();
    await api.putSource('clip.mp4', 'x');
  });
  afterAll(() => api.close());

  const submitted = async (hash: string) =>
    (await api.submit({ type: 'video:cover', hash, source: 'clip.mp4' })).json.job_id as string;
  const timelineOf = async (id: string) => (await api.call(`/api/jobs/${id}/timeline`)).json;
  const claim = (jobId: string, attempt: number, leaseMs = 600_000) =>
    api.d.jobs.claim({ jobId, attempt, owner, leaseMs });

  it('C13.41: `GET /api/jobs/{id}/timeline` has each attempt with what ended it, what it ran, and what the job used', async () => {
    const id = await submitted('tried');
    const nothing = { duration_ms: null, processor_ms: null, source_bytes: 1, result_bytes: null };
    expect(await timelineOf(id)).toEqual({
      job_id: id,
      pool: 'default',
      key_id: expect.stringMatching(/^[0-9a-f]{8}$/),
      accepted_at: time,
      finished_at: null,
      attempts: [],
      usage: nothing,
    });
    await claim(id, 1);
    const common = { worker: 'worker-1:7', claimed_at: time, ended_at: time, code: null, units: [], units_left_out: 0 };
    const running = { ...common, ended_at: null, duration_ms: null, result: null, processor_ms: null };
    expect((await timelineOf(id)).attempts).toEqual([{ ...running, attempt: 1 }]);
    await api.d.jobs.giveBack({ jobId: id, attempt: 1, delayMs: 0 });
    expect((await timelineOf(id)).attempts).toEqual([]);
    await claim(id, 1);
    const failed = { jobId: id, attempt: 1, countsAsFailure: true, delayMs: 0, code: 'storage_error' as const };
    await api.d.jobs.nextAttempt({ ...failed, units: [ranUnit] });
    await api.d.jobs.nextAttempt({ jobId: id, attempt: 2, countsAsFailure: false, delayMs: 0 });
    await claim(id, 3, 1);
    await expect.poll(() => api.d.jobs.releaseLapsed()).toHaveLength(1);
    await claim(id, 4);
    await api.call(`/api/jobs/${id}/cancel`, { method: 'POST' });
    const { attempts, usage, finished_at: finishedAt } = await timelineOf(id);
    const ms = expect.any(Number) as number;
    expect(attempts).toEqual([
      {
        ...common,
        attempt: 1,
        duration_ms: ms,
        result: 'retried',
        code: 'storage_error',
        processor_ms: 310,
        units: [ranUnit],
      },
      { ...common, attempt: 3, duration_ms: ms, result: 'disrupted', processor_ms: null },
      { ...common, attempt: 4, duration_ms: ms, result: 'cancelled', code: 'cancelled', processor_ms: null },
    ]);
    expect(attempts[2].ended_at).toBe(finishedAt);
    expect(usage).toEqual({ ...nothing, duration_ms: ms, processor_ms: 310 });
  });

  it('C13.42: the timeline of a job that is interrupted again and again has its newest 20 attempts', async () => {
    const id = await submitted('interrupted');
    for (let attempt = 1; attempt <= 23; attempt += 1) {
      await claim(id, attempt);
      if (attempt <= 22) await api.d.jobs.nextAttempt({ jobId: id, attempt, countsAsFailure: false, delayMs: 0 });
    }
    const { attempts } = await timelineOf(id);
    const numbers = attempts.map(({ attempt }: { attempt: number }) => attempt);
    expect(numbers).toEqual(Array.from({ length: 21 }, (_, index) => index + 3));
  });

  it('an attempt that a worker of an earlier version ended is not known, and none is shown as running', async () => {
    const id = await submitted('mixed');
    await claim(id, 1);
    const { pool } = api.d.database;
    await pool.query('update jobs set lease_owner = null, lease_expires_at = null, attempt = 2 where id = $1', [id]);
    expect((await timelineOf(id)).attempts).toEqual([]);
    await api.call(`/api/jobs/${id}/cancel`, { method: 'POST' });
    expect((await timelineOf(id)).attempts).toEqual([]);
  });

  it('the timeline of a job that does not exist is answered 404, and without a key 401', async () => {
    for (const id of [missing, 'no-uuid']) expect((await api.call(`/api/jobs/${id}/timeline`)).status).toBe(404);
    const id = await submitted('refused');
    expect((await api.call(`/api/jobs/${id}/timeline`, { headers: { 'x-api-key': 'another' } })).status).toBe(401);
  });
});
