import { expect, test } from 'vitest';
import { isBatchable } from '#domain/work/batchable.ts';
import type { NewJob } from '#platform/postgres/job-store.ts';
import { failure, newJob } from './postgres-fixtures.ts';
import { describeStores } from './postgres-servers.ts';

describeStores('the rows that a batch may take', (c) => {
  test('the statements and the rule agree on every job that waits', async () => {
    const image: Partial<NewJob> = { type: 'image:thumbnail', options: { outputs: [] } };
    const changes: Partial<NewJob>[] = [
      {},
      {},
      { type: 'video:cover', options: {} },
      { queue: 'video:large' },
      { pool: 'gpu' },
      { priority: 5 },
      { priority: -5 },
    ];
    for (const change of changes) await c.jobs.insertOrFind(newJob({ ...image, ...change }));
    const { job: repeated } = await c.jobs.insertOrFind(newJob(image));
    await c.jobs.nextAttempt({
      jobId: repeated.id,
      attempt: 1,
      delayMs: 0,
      countsAsFailure: true,
      countsAsDisruption: false,
    });
    const { rows } = await c.database.pool.query<{ id: string }>('select id from jobs order by created_at');
    const jobs = (await Promise.all(rows.map(({ id }) => c.jobs.find(id)))).flatMap((job) => job ?? []);
    const expected = jobs.filter((job) => isBatchable(job)).map(({ id }) => id);
    expect(expected).toHaveLength(2);
    expect(await c.jobs.batchables(100)).toEqual(expected.map((id) => ({ id, key: '' })));
    for (const { id } of jobs) expect(await c.jobs.waitsForBatch(id)).toBe(expected.includes(id));
  });

  test('of each key as many are read as of all others, the oldest', async () => {
    const image: Partial<NewJob> = { type: 'image:thumbnail', options: { outputs: [] } };
    for (const [at, keyId] of ['a', 'a', 'a', 'a', 'a', 'a', null, 'b', 'b'].entries()) {
      const { job } = await c.jobs.insertOrFind(newJob({ ...image, keyId }));
      // The clock of a virtual machine may be set back between two of them.
      const age = "update jobs set created_at = timestamptz '2026-01-01' + $2 * interval '1 s' where id = $1";
      await c.database.pool.query(age, [job.id, at]);
    }
    const [few, all] = [await c.jobs.batchables(6), await c.jobs.batchables(100)];
    expect(few.map(({ key }) => key).join()).toBe('a,a,,b,b');
    expect(all.map(({ key }) => key).join()).toBe('a,a,a,a,a,a,,b,b');
  });

  test('a batch learns of its own active jobs alone', async () => {
    const image: Partial<NewJob> = { type: 'image:thumbnail', options: { outputs: [] } };
    const claimed = async (owner: string, over: Partial<NewJob> = image) => {
      const { job } = await c.jobs.insertOrFind(newJob(over));
      await c.jobs.claim({ jobId: job.id, attempt: 1, owner, leaseMs: 60_000 });
      return job.id;
    };
    const own = await claimed('leader/batch-1');
    const ended = await claimed('leader/batch-1');
    await c.jobs.finish(failure(ended));
    await claimed('leader/batch-2');
    const video = await claimed('leader/batch-1', { type: 'video:cover', options: {} });
    const held = await c.jobs.claimedUnder('leader/batch-1');
    expect(held.map(({ id }) => id).toSorted()).toEqual([own, video].toSorted());
    expect(held).toContainEqual({ id: own, attempt: 1, owner: 'leader/batch-1' });
    expect(await c.jobs.countClaimed('leader/batch-1', 10), 'of types that share a runner').toBe(1);
  });
});
