import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { JobResults } from '#domain/job-types/index.ts';
import { jobErrorOf } from '#domain/job-error.ts';
import { claimedJob, count, failedJob, failure, newJob } from './postgres-fixtures.ts';
import { describeStores } from './postgres-servers.ts';

const leaseMs = 60_000;
const imageResults = { key: 'images/ab/x/1/thumb.webp', outputs: [] } as unknown as JobResults;
const idsOf = (tickets: readonly { jobId: string }[]) => tickets.map(({ jobId }) => jobId).toSorted();
const retryOf = (id: string) => newJob({ retryOfJobId: id });

describeStores('the end of a job', (c) => {
  describe('finish', () => {
    test('results keep the order of their fields, and what no query could read is replaced', async () => {
      const { id } = await claimedJob(c.jobs);
      const results = JSON.parse('{"z":1,"a":{"y":2,"b":"\\u0000"}}') as JobResults;
      const job = await c.jobs.finish(failure(id, 1, { status: 'completed', results, error: null }));
      expect(JSON.stringify(job?.results)).toBe('{"z":1,"a":{"y":2,"b":"\ufffd"}}');
    });

    test('a job that failed keeps how far it came', async () => {
      const { id } = await claimedJob(c.jobs);
      await c.jobs.report({ jobId: id, attempt: 1, phase: 'encoding', progress: 60 });
      expect(await c.jobs.finish(failure(id))).toMatchObject({ status: 'failed', progress: 60, phase: null });
    });

    test('C12.1: one of many ends at once is recorded, with one event', async () => {
      const { job } = await c.jobs.insertOrFind(newJob({ callbackUrl: 'https://example.com/hook' }));
      await c.jobs.claim({ jobId: job.id, attempt: 1, owner: 'w', leaseMs });
      const ends = await Promise.all(Array.from({ length: 10 }, () => c.jobs.finish(failure(job.id))));
      expect(ends.filter((end) => end !== null)).toHaveLength(1);
      expect(await count(c.database, 'webhook_events')).toBe(1);
    });

    test('C12.2, C12.3: a job is completed only from processing, and a final one is never left', async () => {
      const { id } = (await c.jobs.insertOrFind(newJob())).job;
      const completed = failure(id, 1, { status: 'completed', results: imageResults, error: null });
      expect(await c.jobs.finish(completed)).toBeNull();
      expect(await c.jobs.finish(failure(id))).toMatchObject({ status: 'failed' });
      expect(await c.jobs.finish(completed)).toBeNull();
      expect(await c.jobs.nextAttempt({ jobId: id, attempt: 1, countsAsFailure: true, delayMs: 0 })).toBeNull();
      expect((await c.jobs.find(id))?.status).toBe('failed');
    });

    test('C21.4: a cancelled job has no webhook event, whether it waited or ran', async () => {
      const callbackUrl = 'https://hooks.example/x';
      const waiting = (await c.jobs.insertOrFind(newJob({ callbackUrl }))).job;
      const running = await claimedJob(c.jobs, { callbackUrl });
      for (const { id } of [waiting, running]) {
        const cancelled = await c.jobs.finish(
          failure(id, 1, { status: 'cancelled', error: jobErrorOf('cancelled', 1) }),
        );
        expect(cancelled).toMatchObject({ status: 'cancelled', callbackStatus: null });
      }
      expect(await count(c.database, 'webhook_events')).toBe(0);
    });

    test('C21.8: when the event cannot be written, the job has not ended either', async () => {
      const first = await c.jobs.insertOrFind(newJob({ callbackUrl: 'https://example.com/hook' }));
      const second = await c.jobs.insertOrFind(newJob({ callbackUrl: 'https://example.com/hook' }));
      const eventId = randomUUID();
      await c.jobs.finish(failure(first.job.id, 1, { eventId }));
      await expect(c.jobs.finish(failure(second.job.id, 1, { eventId }))).rejects.toThrow('duplicate key');
      expect((await c.jobs.find(second.job.id))?.status).toBe('queued');
    });

    test('updated_at moves with every change and never stands still', async () => {
      const { id } = (await c.jobs.insertOrFind(newJob())).job;
      const seen = [(await c.jobs.find(id))?.updatedAt.getTime() ?? 0];
      const note = async () => seen.push((await c.jobs.find(id))?.updatedAt.getTime() ?? 0);
      await c.jobs.claim({ jobId: id, attempt: 1, owner: 'w', leaseMs });
      await note();
      for (const progress of [5, 6, 7, 8]) {
        await c.jobs.report({ jobId: id, attempt: 1, phase: 'encoding', progress });
        await note();
      }
      await c.jobs.nextAttempt({ jobId: id, attempt: 1, countsAsFailure: true, delayMs: 0 });
      await note();
      await c.jobs.finish(failure(id, 2));
      await note();
      expect(seen).toEqual([...new Set(seen)].toSorted((a, b) => a - b));
    });
  });

  describe('nextAttempt', () => {
    test('the next attempt is free, counts the failure, and begins its progress again', async () => {
      const { id } = await claimedJob(c.jobs);
      await c.jobs.report({ jobId: id, attempt: 1, phase: 'encoding', progress: 60 });
      const next = await c.jobs.nextAttempt({ jobId: id, attempt: 1, countsAsFailure: true, delayMs: 0 });
      expect(next).toMatchObject({ jobId: id, attempt: 2, queue: 'default' });
      expect(await c.jobs.find(id)).toMatchObject({ status: 'processing', attempt: 2, failures: 1, progress: 0 });
      const after = await c.jobs.nextAttempt({ jobId: id, attempt: 2, countsAsFailure: false, delayMs: 0 });
      expect(after).toMatchObject({ attempt: 3 });
      expect(await c.jobs.find(id)).toMatchObject({ attempt: 3, failures: 1 });
    });

    test('one of many calls for an attempt moves the job on', async () => {
      const { id } = await claimedJob(c.jobs);
      const next = { jobId: id, attempt: 1, countsAsFailure: true, delayMs: 0 };
      const tickets = await Promise.all(Array.from({ length: 10 }, () => c.jobs.nextAttempt(next)));
      expect(tickets.filter((ticket) => ticket !== null)).toHaveLength(1);
      expect(await c.jobs.find(id)).toMatchObject({ attempt: 2, failures: 1 });
    });
  });

  describe('withoutTicket', () => {
    // Younger than now by the clock of the database.
    const options = { olderThanMs: -1000, limit: 100 };
    test('jobs that may lack a ticket are the queued ones and the unclaimed attempts', async () => {
      const queued = (await c.jobs.insertOrFind(newJob())).job;
      const again = await claimedJob(c.jobs);
      await c.jobs.nextAttempt({ jobId: again.id, attempt: 1, countsAsFailure: true, delayMs: 0 });
      await claimedJob(c.jobs);
      await failedJob(c.jobs);
      const later = await claimedJob(c.jobs);
      await c.jobs.nextAttempt({ jobId: later.id, attempt: 1, countsAsFailure: true, delayMs: 60_000 });
      const tickets = await c.jobs.withoutTicket(options);
      expect(idsOf(tickets)).toEqual([queued.id, again.id].toSorted());
      expect(tickets.find(({ jobId }) => jobId === again.id)).toMatchObject({ attempt: 2, queue: 'default' });
    });
  });

  describe('createRetries', () => {
    test('a job whose retry failed may be retried again', async () => {
      const failed = await failedJob(c.jobs);
      const retry = () => c.jobs.createRetries({ jobId: failed.id, newJobs: () => [retryOf(failed.id)] });
      const first = await retry();
      expect(await retry()).toEqual({ outcome: 'retry_exists' });
      await c.jobs.finish(failure(first.outcome === 'created' ? (first.jobs[0]?.id ?? '') : ''));
      expect(await retry()).toMatchObject({ outcome: 'created' });
    });

    test('retries of two jobs with equal new jobs share them, and do not wait for each other for ever', async () => {
      for (let round = 0; round < 10; round++) {
        const [a, b] = [await failedJob(c.jobs), await failedJob(c.jobs)];
        const hashes = [randomUUID(), randomUUID()];
        const equal = (retryOfJobId: string, order: string[]) =>
          c.jobs.createRetries({
            jobId: retryOfJobId,
            newJobs: () => order.map((hash) => newJob({ hash, retryOfJobId })),
          });
        const outcomes = await Promise.all([equal(a.id, hashes), equal(b.id, hashes.toReversed())]);
        const ids = outcomes.map((made) => (made.outcome === 'created' ? made.jobs.map(({ id }) => id) : made.outcome));
        expect(ids[0]).toHaveLength(2);
        expect(ids[1]).toEqual((ids[0] as string[]).toReversed());
      }
    });
  });
});
