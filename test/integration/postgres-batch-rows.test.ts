import { expect, test } from 'vitest';
import { isBatchable } from '#domain/work/batchable.ts';
import type { NewJob } from '#platform/postgres/job-store.ts';
import { newJob } from './postgres-fixtures.ts';
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
    expect(await c.jobs.batchableIds(100)).toEqual(expected);
    for (const { id } of jobs) expect(await c.jobs.waitsForBatch(id)).toBe(expected.includes(id));
  });
});
