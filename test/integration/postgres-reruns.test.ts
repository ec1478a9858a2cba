import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { rerunKey } from '#domain/jobs/idempotency.ts';
import type { JobResults } from '#domain/job-types/index.ts';
import type { JobStore, NewJob } from '#platform/postgres/job-store.ts';
import { claimedJob, failure, newJob } from './postgres-fixtures.ts';
import { describeStores } from './postgres-servers.ts';

// Which job answers an equal submission while one is made again.

const results = { key: 'images/ab/x/1/thumb.webp', outputs: [] } as unknown as JobResults;
const crash = () => Promise.reject(new Error('planted'));
const completion = (jobId: string) => failure(jobId, 1, { status: 'completed', results, error: null });

/** A completed job, and its rerun that a worker has claimed. */
async function madeAgain(jobs: JobStore) {
  const request = newJob();
  const { job: earlier } = await jobs.insertOrFind(request);
  await jobs.claim({ jobId: earlier.id, attempt: 1, owner: 'w', leaseMs: 60_000 });
  await jobs.finish(completion(earlier.id));
  const equal = (): NewJob => ({ ...request, id: randomUUID() });
  const again = { ...equal(), idempotencyKey: rerunKey(request.idempotencyKey), rerunOfJobId: earlier.id };
  return { request, equal, earlier, rerun: await claimedJob(jobs, again) };
}

describeStores('the key of a rerun', (c) => {
  const keysOf = async () => {
    const { rows } = await c.database.pool.query<{ id: string; idempotency_key: string }>(
      `select id, idempotency_key from jobs where status not in ('failed', 'cancelled')`,
    );
    return new Map(rows.map((row) => [row.id, row.idempotency_key]));
  };

  test('a completed rerun takes the key of the completed job, in the transaction of its end', async () => {
    const { request, equal, earlier, rerun } = await madeAgain(c.jobs);
    await expect(c.jobs.finish({ ...completion(rerun.id), beforeCommit: crash })).rejects.toThrow('planted');
    expect((await c.jobs.insertOrFind(equal())).job.id).toBe(earlier.id);
    await c.jobs.finish(completion(rerun.id));
    expect((await c.jobs.insertOrFind(equal())).job.id).toBe(rerun.id);
    expect(await keysOf()).toEqual(
      new Map([
        [earlier.id, `replaced ${earlier.id}`],
        [rerun.id, request.idempotencyKey],
      ]),
    );
    // A worker that repeats the end changes nothing.
    expect(await c.jobs.finish(completion(rerun.id))).toBeNull();
  });

  test('a rerun that fails leaves the key with the completed job, and frees its own', async () => {
    const { request, equal, earlier, rerun } = await madeAgain(c.jobs);
    await c.jobs.finish(failure(rerun.id));
    expect((await c.jobs.insertOrFind(equal())).job.id).toBe(earlier.id);
    const next = { ...equal(), idempotencyKey: rerunKey(request.idempotencyKey), rerunOfJobId: earlier.id };
    expect((await c.jobs.insertOrFind(next)).isNew).toBe(true);
  });

  test('an equal submission that is being accepted keeps the key, and the rerun completes', async () => {
    const { request, equal, earlier, rerun } = await madeAgain(c.jobs);
    // The key is free now: the earlier job has expired.
    await c.database.pool.query(`update jobs set idempotency_key = 'expired ' || id where id = $1`, [earlier.id]);
    const other = equal();
    const client = await c.database.pool.connect();
    try {
      await client.query('begin');
      await client.query(
        `insert into jobs (id, type, hash, source, options, idempotency_key, queue)
         values ($1, $2, $3, $4, '{}', $5, 'default')`,
        [other.id, request.type, request.hash, request.source, request.idempotencyKey],
      );
      const ending = c.jobs.finish(completion(rerun.id));
      const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await expect.poll(async () => (await c.database.pool.query(waiting)).rowCount).toBeGreaterThan(0);
      await client.query('commit');
      expect(await ending).toMatchObject({ id: rerun.id, status: 'completed' });
    } finally {
      client.release();
    }
    expect((await keysOf()).get(rerun.id)).toBe(`replaced ${rerun.id}`);
    expect((await c.jobs.insertOrFind(equal())).job.id).toBe(other.id);
  });

  test('every one of many equal submissions around the end of a rerun is answered by a completed job', async () => {
    for (let round = 0; round < 10; round++) {
      const { equal, earlier, rerun } = await madeAgain(c.jobs);
      const submissions = Array.from({ length: 20 }, async (_, index) => {
        await sleep(index / 4);
        return c.jobs.insertOrFind(equal());
      });
      const [, ...answers] = await Promise.all([c.jobs.finish(completion(rerun.id)), ...submissions]);
      expect(answers.filter(({ isNew }) => isNew)).toEqual([]);
      const ids = new Set(answers.map(({ job }) => job.id));
      expect([...ids].filter((id) => id !== earlier.id && id !== rerun.id)).toEqual([]);
    }
  });
});
