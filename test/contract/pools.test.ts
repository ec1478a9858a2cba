import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// docs/reference/contract.md, "Jobs": `GET /api/pools`.

let api: ApiUnderTest;
beforeAll(async () => {
  api = await startApi();
  await api.putSource('clip.mp4', 'x');
});
afterAll(() => api.close());

const submitted = async (hash: string) =>
  (await api.submit({ type: 'video:cover', hash, source: 'clip.mp4' })).json.job_id as string;

it('C13.39: `GET /api/pools` says of each pool what runs, what waits and why, as each job says it of itself', async () => {
  expect((await api.call('/api/pools')).json).toEqual({
    pools: [
      { name: 'default', queue: 'default', running: 0, waiting: 0, oldest_waiting_at: null, reasons: [] },
      { name: 'video-large', queue: 'video:large', running: 0, waiting: 0, oldest_waiting_at: null, reasons: [] },
    ],
    counted_max: 2000,
  });
  const ids: string[] = [];
  for (const hash of ['runs', 'next', 'third', 'fourth', 'later', 'unschedulable', 'gpu'])
    ids.push(await submitted(hash));
  const [runs = '', next = '', third = '', , later = '', unschedulable = '', gpu = ''] = ids;
  for (const jobId of [runs, unschedulable])
    await api.d.jobs.claim({ jobId, attempt: 1, owner: 'test', leaseMs: 600_000 });
  const { pool } = api.d.database;
  await pool.query(`update jobs set not_before = now() + interval '1 hour' where id = $1`, [later]);
  await pool.query(`update jobs set waiting_reason = $2 where id = $1`, [
    unschedulable,
    JSON.stringify({ code: 'unschedulable', message: '0/3 nodes are available.' }),
  ]);
  await pool.query(`update jobs set pool = 'gpu' where id = $1`, [gpu]);
  const { json } = await api.call('/api/pools');
  const [pools, gpuPool] = [json.pools[0], json.pools[2]];
  expect([pools.running, pools.waiting]).toEqual([1, 5]);
  expect(Date.parse(pools.oldest_waiting_at)).toBeGreaterThan(Date.now() - 60_000);
  const of = Object.fromEntries(pools.reasons.map((reason: { code: string }) => [reason.code, reason]));
  expect(of).toEqual({
    behind_others: { code: 'behind_others', message: expect.any(String), jobs: 2, job_id: third },
    pool_full: { code: 'pool_full', message: 'It is the next; 1 job of the pool runs.', jobs: 1, job_id: next },
    next_attempt_later: { code: 'next_attempt_later', message: expect.any(String), jobs: 1, job_id: later },
    unschedulable: { code: 'unschedulable', message: '0/3 nodes are available.', jobs: 1, job_id: unschedulable },
  });
  expect([gpuPool.name, gpuPool.queue, gpuPool.waiting]).toEqual(['gpu', null, 1]);
  for (const id of [next, third, later, unschedulable]) {
    const { reason } = (await api.call(`/api/jobs/${id}`)).json;
    expect([id, of[reason.code]?.code]).toEqual([id, reason.code]);
  }
  expect((await api.call('/api/pools', { headers: { 'x-api-key': 'another' } })).status).toBe(401);
});
