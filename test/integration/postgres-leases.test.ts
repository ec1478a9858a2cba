import { afterEach, describe, expect, test, vi } from 'vitest';
import { lapsedAtOnce } from '#platform/postgres/job-attempts.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { sweeperComponent } from '../../controller/upkeep/sweeper.ts';
import { claimedJob, newJob } from './postgres-fixtures.ts';
import { describeStores } from './postgres-servers.ts';

const minuteMs = 60_000;
const log = createLogger({ level: 'silent', name: 'test' });

describeStores('leases and claims', (stores) => {
  afterEach(() => {
    vi.useRealTimers();
  });

  // The first of its database: the server counts what other connections have updated seconds later.
  test('a renewed lease writes no index entries', async () => {
    const { id } = await claimedJob(stores.jobs);
    const counts = async () => {
      const { rows } = await stores.database.pool.query<{ updates: number; hot: number }>(
        `select n_tup_upd::int as updates, n_tup_hot_upd::int as hot from pg_stat_user_tables where relname = 'jobs'`,
      );
      return rows[0] ?? { updates: 0, hot: 0 };
    };
    const settled = async (least: number) => {
      await expect.poll(async () => (await counts()).updates, { timeout: 15_000 }).toBeGreaterThanOrEqual(least);
      return counts();
    };
    const before = await settled(1);
    for (let renewal = 0; renewal < 100; renewal++)
      await stores.jobs.renewLease({ jobId: id, attempt: 1, owner: 'worker-1', leaseMs: minuteMs });
    const after = await settled(before.updates + 100);
    expect(after.hot - before.hot).toBeGreaterThanOrEqual(95);
  });

  describe('clocks', () => {
    test.each([-5, 5])(
      'a worker whose clock is %i minutes off records the end of a job by the clock of the database',
      async (minutes) => {
        const { id } = await claimedJob(stores.jobs, { callbackUrl: 'https://example.com/hook' });
        vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + minutes * minuteMs });
        const end = { results: null, error: null, eventId: '00000000-0000-4000-8000-000000000001' };
        await stores.jobs.finish({ jobId: id, attempt: 1, status: 'completed', ...end });
        const { rows } = await stores.database.pool.query(
          `select started_at <= finished_at as is_ordered, next_attempt_at <= now() as is_due,
           abs(extract(epoch from finished_at - now())) < 30 as is_now
         from jobs join webhook_events on job_id = jobs.id`,
        );
        expect(rows).toEqual([{ is_ordered: true, is_due: true, is_now: true }]);
      },
    );
  });

  test('one round releases all lapsed leases, in several statements', async () => {
    const jobs = await Promise.all(Array.from({ length: lapsedAtOnce + 1 }, () => stores.jobs.insertOrFind(newJob())));
    await stores.database.pool.query(
      `update jobs set status = 'processing', lease_owner = 'dead', lease_expires_at = now() - interval '1 second'`,
    );
    const released = new Set<string>();
    const sweeper = sweeperComponent({
      jobs: stores.jobs,
      queue: { add: ({ jobId }) => Promise.resolve(void released.add(jobId)) },
      log,
      everyMs: 60 * minuteMs,
      leaseMs: 0,
      ticketAgeMs: 60 * minuteMs,
    });
    await sweeper.start();
    await expect.poll(() => released.size).toBe(jobs.length);
    await sweeper.stop(AbortSignal.timeout(5_000));
  });

  describe('renewals', () => {
    test('the state of a lease is read without renewing it', async () => {
      const { id } = await claimedJob(stores.jobs);
      const lease = { jobId: id, attempt: 1, owner: 'worker-1' };
      const end = () => stores.database.pool.query('select lease_expires_at from jobs');
      const before = (await end()).rows;
      expect(await stores.jobs.leaseState(lease)).toBe('held');
      expect((await end()).rows).toEqual(before);
      expect(await stores.jobs.leaseState({ ...lease, owner: 'worker-2' })).toBe('lost');
      expect(await stores.jobs.leaseState({ ...lease, attempt: 2 })).toBe('lost');
      await stores.jobs.finish({ ...lease, status: 'cancelled', results: null, error: null, eventId: id });
      expect(await stores.jobs.leaseState(lease)).toBe('cancelled');
    });
  });

  describe('giveBack', () => {
    test('a claim that is given back can be claimed again as the same attempt, and costs nothing', async () => {
      const { id } = await claimedJob(stores.jobs);
      for (let again = 0; again < 60; again++) {
        const ticket = await stores.jobs.giveBack({ jobId: id, attempt: 1, delayMs: 0 });
        expect(ticket).toMatchObject({ jobId: id, attempt: 1 });
        expect(await stores.jobs.claim({ jobId: id, attempt: 1, owner: 'w', leaseMs: minuteMs })).not.toBeNull();
      }
      expect(await stores.jobs.find(id)).toMatchObject({ attempt: 1, failures: 0, disruptions: 0 });
    });

    test('a claim of an older attempt, or of no worker, is not given back', async () => {
      const { job } = await stores.jobs.insertOrFind(newJob());
      expect(await stores.jobs.giveBack({ jobId: job.id, attempt: 1, delayMs: 0 })).toBeNull();
      const { id } = await claimedJob(stores.jobs);
      await stores.jobs.nextAttempt({ jobId: id, attempt: 1, countsAsFailure: false, delayMs: 0 });
      expect(await stores.jobs.giveBack({ jobId: id, attempt: 1, delayMs: 0 })).toBeNull();
      expect(await stores.jobs.find(id)).toMatchObject({ attempt: 2, failures: 0, disruptions: 1 });
    });
  });

  test('an attempt that ended by an outage of the storage counts neither as a failure nor as a disruption', async () => {
    const { id } = await claimedJob(stores.jobs);
    const outage = { countsAsFailure: false, countsAsDisruption: false, delayMs: 0 };
    expect(await stores.jobs.nextAttempt({ jobId: id, attempt: 1, ...outage })).toMatchObject({ attempt: 2 });
    expect(await stores.jobs.find(id)).toMatchObject({ attempt: 2, failures: 0, disruptions: 0 });
  });

  describe('pool and priority', () => {
    test('pool and priority of a job are kept, and its ticket has the priority', async () => {
      const { job } = await stores.jobs.insertOrFind(newJob({ pool: 'gpu', priority: -7 }));
      expect(job).toMatchObject({ pool: 'gpu', priority: -7 });
      await stores.jobs.claim({ jobId: job.id, attempt: 1, owner: 'w', leaseMs: minuteMs });
      const ticket = await stores.jobs.nextAttempt({ jobId: job.id, attempt: 1, countsAsFailure: true, delayMs: 0 });
      expect(ticket).toMatchObject({ attempt: 2, priority: -7 });
    });
  });
});
