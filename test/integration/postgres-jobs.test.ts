import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { jobErrorOf } from '#domain/job-error.ts';
import { type JobPhase, jobStatuses, liveStatuses } from '#domain/jobs/status.ts';
import type { UnitRun } from '#domain/work/unit-run.ts';
import { JobQueries } from '#platform/postgres/job-queries.ts';
import { PoolStore } from '#platform/postgres/pool-store.ts';
import { JobStore } from '#platform/postgres/job-store.ts';
import { claimedJob, count, failedJob, failure, newJob } from './postgres-fixtures.ts';
import { describeStores } from './postgres-servers.ts';

const leaseMs = 60_000;

/** A chunk's run of one step. */
const unitRun = (pod: string | null, processorMs: number): UnitRun => ({
  unit: 'chunk',
  chunk: 0,
  pod,
  steps: [
    {
      step: 'process',
      started_at: new Date(0).toISOString(),
      duration_ms: 9,
      processor_ms: processorMs,
      code: null,
    },
  ],
});

describeStores('the job store', (c) => {
  describe('insertOrFind', () => {
    test('a new job is queued, with everything that was given', async () => {
      const given = newJob({ callbackUrl: 'https://example.com/hook', queue: 'video:large' });
      const { job, isNew } = await c.jobs.insertOrFind(given);
      const { idempotencyKey: _key, ...rest } = given;
      expect(isNew).toBe(true);
      expect(job).toEqual({
        ...rest,
        rerunOfJobId: null,
        rerunReason: null,
        keyId: null,
        title: null,
        metadata: null,
        status: 'queued',
        phase: null,
        progress: 0,
        eta: null,
        attempt: 1,
        failures: 0,
        disruptions: 0,
        waitingReason: null,
        profile: null,
        pool: null,
        priority: 0,
        startedAt: null,
        finishedAt: null,
        callbackStatus: null,
        error: null,
        results: null,
        resultsExpired: false,
        createdAt: expect.any(Date) as Date,
        updatedAt: job.createdAt,
      });
      expect(await c.jobs.find(job.id)).toEqual(job);
    });

    test('an id that no job has, and one that is no UUID, find nothing', async () => {
      expect(await c.jobs.find(randomUUID())).toBeNull();
      expect(await c.jobs.find("x' or true")).toBeNull();
    });

    test('each of many jobs at once, from several processes and partly equal, is made once and answered to its callers', async () => {
      const hashes = Array.from({ length: 40 }, () => randomUUID());
      // Each in another order, as statements that wait for each other's rows would be.
      const stores = Array.from({ length: 6 }, () => new JobStore(c.database));
      const answers = await Promise.all(
        stores.flatMap((jobs, n) =>
          hashes.map((_, index) => {
            const hash = hashes[(index * (2 * n + 1)) % hashes.length] ?? '';
            return jobs.insertOrFind(newJob({ hash }));
          }),
        ),
      );
      expect(answers.filter(({ isNew }) => isNew)).toHaveLength(40);
      expect(new Set(answers.map(({ job }) => `${job.hash} ${job.id}`)).size).toBe(40);
      expect(await count(c.database, 'jobs')).toBe(40);
    });

    test('a job that cannot be written fails alone, and those that came with it are made', async () => {
      const wrong = newJob({ retryOfJobId: randomUUID() });
      const answers = await Promise.allSettled([newJob(), wrong, newJob()].map((job) => c.jobs.insertOrFind(job)));
      expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect(await count(c.database, 'jobs')).toBe(2);
    });

    test('exactly the rows of live statuses answer an equal job', async () => {
      for (const status of jobStatuses) {
        const hash = randomUUID();
        const { job } = await c.jobs.insertOrFind(newJob({ hash }));
        await c.database.pool.query('update jobs set status = $2 where id = $1', [job.id, status]);
        const again = await c.jobs.insertOrFind(newJob({ hash }));
        expect([status, again.isNew]).toEqual([status, !(liveStatuses as string[]).includes(status)]);
      }
    });

    test('while equal jobs fail again and again, every call gets a job and no two live ones are there', async () => {
      const hash = randomUUID();
      const answers = await Promise.all(
        Array.from({ length: 60 }, async () => {
          const { job } = await c.jobs.insertOrFind(newJob({ hash }));
          await c.jobs.finish(failure(job.id));
          return job.id;
        }),
      );
      expect(answers).toHaveLength(60);
      const { job, isNew } = await c.jobs.insertOrFind(newJob({ hash }));
      expect([job.status, isNew]).toEqual(['queued', true]);
    });
  });

  describe('claim and lease', () => {
    test('one of many claims at once wins', async () => {
      const { id } = (await c.jobs.insertOrFind(newJob())).job;
      const claims = await Promise.all(
        Array.from({ length: 20 }, (_, i) => c.jobs.claim({ jobId: id, attempt: 1, owner: `worker-${i}`, leaseMs })),
      );
      const won = claims.filter((job) => job !== null);
      expect(won).toHaveLength(1);
      expect(won[0]).toMatchObject({ status: 'processing', phase: 'scheduling', attempt: 1 });
    });

    test('a claim of another attempt, of a job that has ended, or of none, gets nothing', async () => {
      const { id } = (await c.jobs.insertOrFind(newJob())).job;
      const over = await failedJob(c.jobs);
      for (const [jobId, attempt] of [
        [id, 2],
        [over.id, 1],
        [randomUUID(), 1],
      ] as const)
        expect(await c.jobs.claim({ jobId, attempt, owner: 'w', leaseMs })).toBeNull();
    });

    test('a lease is renewed by its owner alone', async () => {
      const { id } = await claimedJob(c.jobs);
      const renew = (owner: string, attempt = 1) => c.jobs.renewLease({ jobId: id, attempt, owner, leaseMs });
      expect(await renew('worker-1')).toBe('held');
      expect(await renew('worker-2')).toBe('lost');
      expect(await renew('worker-1', 2)).toBe('lost');
      expect(await c.jobs.renewLease({ jobId: randomUUID(), attempt: 1, owner: 'worker-1', leaseMs })).toBe('lost');
    });

    test('a renewal by the owner of a cancelled job reports the cancellation', async () => {
      const { id } = await claimedJob(c.jobs);
      await c.jobs.finish(failure(id, 1, { status: 'cancelled', error: jobErrorOf('cancelled', 1) }));
      expect(await c.jobs.renewLease({ jobId: id, attempt: 1, owner: 'worker-1', leaseMs })).toBe('cancelled');
    });

    test('renewing a lease, or giving out a ticket, is no change of the job', async () => {
      const { id } = await claimedJob(c.jobs);
      const before = await c.jobs.find(id);
      await c.jobs.renewLease({ jobId: id, attempt: 1, owner: 'worker-1', leaseMs });
      expect(await c.jobs.find(id)).toEqual(before);
      const known = [{ id, since: before?.updatedAt ?? new Date(0), hasResults: true }];
      expect(await new JobQueries(c.database).changed(known)).toEqual([]);
    });

    test('a lapsed lease ends the attempt: the next one can be claimed, and the old owner changes nothing more', async () => {
      const { job } = await c.jobs.insertOrFind(newJob());
      const first = await c.jobs.claim({ jobId: job.id, attempt: 1, owner: 'dead', leaseMs });
      await c.jobs.report({ jobId: job.id, attempt: 1, phase: 'encoding', progress: 40 });
      expect(await c.jobs.releaseLapsed(new Date(Date.now() - 5_000))).toEqual([]);
      await c.database.pool.query(
        `update jobs set ticketed_at = now() - interval '1 hour', lease_expires_at = now() - interval '1 second'`,
      );
      const tickets = await c.jobs.releaseLapsed(new Date());
      expect(tickets).toEqual([{ jobId: job.id, attempt: 2, queue: 'default', trace: job.trace }]);
      expect(await c.jobs.withoutTicket({ olderThanMs: 60_000, limit: 1 }), 'its ticket is on its way').toEqual([]);
      expect(await c.jobs.find(job.id)).toMatchObject({
        status: 'processing',
        phase: 'admitted',
        progress: 0,
        attempt: 2,
        failures: 0,
      });
      expect(await c.jobs.renewLease({ jobId: job.id, attempt: 1, owner: 'dead', leaseMs })).toBe('lost');
      await c.jobs.report({ jobId: job.id, attempt: 1, phase: 'publishing', progress: 90 });
      expect(await c.jobs.finish(failure(job.id, 1))).toBeNull();
      expect(await c.jobs.nextAttempt({ jobId: job.id, attempt: 1, countsAsFailure: true, delayMs: 0 })).toBeNull();
      expect(await c.jobs.find(job.id)).toMatchObject({ status: 'processing', progress: 0, attempt: 2 });
      const taken = await c.jobs.claim({ jobId: job.id, attempt: 2, owner: 'alive', leaseMs });
      // The job began with its first attempt.
      expect(taken).toMatchObject({ attempt: 2, phase: 'scheduling', startedAt: first?.startedAt });
      expect(await c.jobs.finish(failure(job.id, 2))).toMatchObject({ status: 'failed' });
    });

    test('an endless lease never lapses', async () => {
      const { id } = (await c.jobs.insertOrFind(newJob())).job;
      await c.jobs.claim({ jobId: id, attempt: 1, owner: 'kubernetes', leaseMs: Infinity });
      expect(await c.jobs.renewLease({ jobId: id, attempt: 1, owner: 'kubernetes', leaseMs: Infinity })).toBe('held');
      expect(await c.jobs.releaseLapsed(new Date('9999-12-31'))).toEqual([]);
    });

    test('unclaimed jobs are counted by the pool that they name, and begin by priority and age', async () => {
      const pools = new PoolStore(c.database);
      const [, second, later] = await Promise.all(
        [{}, { priority: 5 }, {}].map(
          async (more) => (await c.jobs.insertOrFind(newJob({ pool: 'gpu', ...more }))).job.id,
        ),
      );
      await c.database.pool.query(`update jobs set not_before = now() + interval '1 hour' where id = $1`, [later]);
      const ofPool = async () => (await pools.waitingJobs()).filter(({ pool }) => pool === 'gpu');
      expect(await ofPool()).toMatchObject([{ queue: 'default', pending: 2, retry: 1 }]);
      await c.jobs.claim({ jobId: second ?? '', attempt: 1, owner: 'kubernetes', leaseMs: Infinity });
      expect(await ofPool()).toMatchObject([{ pending: 1, retry: 1 }]);
      expect((await ofPool())[0]?.oldestSeconds).toBeGreaterThanOrEqual(0);
    });

    test('what deleted pods of an attempt ran is kept once a pod, the last report of it, for that attempt alone', async () => {
      const jobId = (await c.jobs.insertOrFind(newJob())).job.id;
      await c.jobs.keepRuns({ jobId, attempt: 1 }, [unitRun('a', 1), unitRun(null, 5)]);
      await c.jobs.keepRuns({ jobId, attempt: 1 }, [unitRun('a', 2), unitRun('b', 3)]);
      const kept = await c.jobs.keptRuns({ jobId, attempt: 1 });
      expect(kept.toSorted((x, y) => String(x.pod).localeCompare(String(y.pod)))).toEqual([
        unitRun('a', 2),
        unitRun('b', 3),
      ]);
      expect(await c.jobs.keptRuns({ jobId, attempt: 2 })).toEqual([]);
    });

    test('claimed jobs are counted by queue, until they have ended', async () => {
      const before = await c.jobs.countAtWork();
      const { id } = (await c.jobs.insertOrFind(newJob({ queue: 'video:large' }))).job;
      expect(await c.jobs.countAtWork()).toEqual(before);
      await c.jobs.claim({ jobId: id, attempt: 1, owner: 'kubernetes', leaseMs: Infinity });
      expect(await c.jobs.countAtWork()).toEqual({ ...before, 'video:large': before['video:large'] + 1 });
      await c.jobs.finish(failure(id, 1));
      expect(await c.jobs.countAtWork()).toEqual(before);
    });
  });

  describe('report', () => {
    test('C13.3: neither progress nor phase falls within an attempt, in whatever order reports come', async () => {
      const { id } = await claimedJob(c.jobs);
      const reports = [
        ['encoding', 50],
        ['probing', 4],
        ['encoding', 49],
        ['packaging', 80],
        ['encoding', 79],
      ] as const;
      for (const [phase, progress] of reports) await c.jobs.report({ jobId: id, attempt: 1, phase, progress });
      expect(await c.jobs.find(id)).toMatchObject({ phase: 'packaging', progress: 80 });
    });

    test('C12.8: the end of the encoding is foreseen by its speed in this attempt, and in no other phase', async () => {
      const { id } = await claimedJob(c.jobs);
      const etaAfter = async (attempt: number, phase: JobPhase, progress: number) => {
        await c.jobs.report({ jobId: id, attempt, phase, progress });
        return (await c.jobs.find(id))?.eta ?? null;
      };
      const begun = Date.now();
      expect(await etaAfter(1, 'encoding', 5)).toBeNull();
      await c.database.pool.query(`update jobs set encoding_since = now() - interval '10 seconds' where id = $1`, [id]);
      // A third of the encoding took ten seconds.
      const eta = await etaAfter(1, 'encoding', 30);
      const tookMs = Date.now() - begun;
      expect(eta?.getTime()).toBeGreaterThan(begun + 19_000);
      expect(eta?.getTime()).toBeLessThan(begun + tookMs + 21_000 + 2 * tookMs);
      // Two thirds of it took the same time: later reports are measured from the first one too.
      const soon = await etaAfter(1, 'encoding', 55);
      expect(soon?.getTime()).toBeLessThan(begun + 6_000 + 2 * (Date.now() - begun));
      expect(await etaAfter(1, 'packaging', 80)).toBeNull();
      await c.jobs.nextAttempt({ jobId: id, attempt: 1, countsAsFailure: false, countsAsDisruption: true, delayMs: 0 });
      await c.jobs.claim({ jobId: id, attempt: 2, owner: 'test', leaseMs: 60_000 });
      // The chunks of earlier attempts say nothing of its speed.
      expect(await etaAfter(2, 'encoding', 60)).toBeNull();
      expect((await etaAfter(2, 'encoding', 61))?.getTime()).toBeGreaterThan(begun);
    });

    test('a report of a job that no worker runs, or that has ended, changes nothing', async () => {
      const queued = (await c.jobs.insertOrFind(newJob())).job;
      const over = await failedJob(c.jobs);
      for (const { id } of [queued, over])
        await c.jobs.report({ jobId: id, attempt: 1, phase: 'encoding', progress: 50 });
      expect(await c.jobs.find(queued.id)).toEqual(queued);
      expect(await c.jobs.find(over.id)).toEqual(over);
    });

    test('progress is a whole percentage whatever is reported', async () => {
      const { id } = await claimedJob(c.jobs);
      await c.jobs.report({ jobId: id, attempt: 1, phase: 'encoding', progress: 12.9 });
      expect((await c.jobs.find(id))?.progress).toBe(12);
      await c.jobs.report({ jobId: id, attempt: 1, phase: 'encoding', progress: 1e9 });
      expect((await c.jobs.find(id))?.progress).toBe(100);
    });
  });
});
