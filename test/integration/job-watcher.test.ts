import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { jobErrorOf } from '#domain/job-error.ts';
import { type Database, openDatabase } from '#platform/postgres/database.ts';
import { JobQueries } from '#platform/postgres/job-queries.ts';
import { JobStore } from '#platform/postgres/job-store.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { JobWatcher } from '../../api/job-watcher.ts';
import { migratedDatabase, type TestDatabase } from '../../testing/databases.ts';
import { newJob } from './postgres-fixtures.ts';

describe.skipIf(!inject('postgres'))('watching jobs', () => {
  let created: TestDatabase;
  let database: Database;
  let jobs: JobStore;
  let watcher: JobWatcher;
  beforeAll(async () => {
    created = await migratedDatabase();
    database = openDatabase(created.url);
    jobs = new JobStore(database);
  });
  beforeEach(() => {
    watcher = new JobWatcher({
      queries: new JobQueries(database),
      log: createLogger({ level: 'silent', name: 'test' }),
    });
  });
  afterAll(async () => {
    await database.close();
    await created.drop();
  });

  const neverAborted = new AbortController().signal;
  const failed = async (jobId: string) => {
    const end = { status: 'failed', results: null, error: jobErrorOf('storage_error', 1) } as const;
    await jobs.claim({ jobId, attempt: 1, owner: 'test', leaseMs: 60_000 });
    await jobs.finish({ jobId, attempt: 1, ...end, eventId: randomUUID(), now: new Date() });
  };

  it('a thousand clients of a job cost one row of a query and one event', async () => {
    const { job } = await jobs.insertOrFind(newJob());
    const asked = vi.spyOn(database.pool, 'query');
    const waits = Array.from({ length: 1000 }, (_, n) =>
      watcher.next(
        { id: job.id, since: new Date(job.updatedAt.getTime() - (n % 7)), hasResults: n === 500 },
        { timeoutMs: 60_000, signal: neverAborted },
      ),
    );
    expect(watcher.size).toBe(1);
    await failed(job.id);
    const events = await Promise.all(waits);
    expect(new Set(events).size).toBe(1);
    expect(new Set(events.map((event) => event?.bytes({ hasResults: false }))).size).toBe(1);
    const polls = asked.mock.calls.filter(([text]) => text.includes('unnest($1::uuid[], $2::timestamptz[]'));
    expect(polls.map(([, parameters]) => parameters)).toContainEqual([
      [job.id],
      [new Date(job.updatedAt.getTime() - 6)],
      [true],
    ]);
    for (const [, parameters] of polls) expect(parameters).toHaveProperty('0.length', 1);
    asked.mockRestore();
  });

  it('results are not read when no client wants them', async () => {
    const { job } = await jobs.insertOrFind(newJob());
    const asked = vi.spyOn(database.pool, 'query');
    const wait = watcher.next(
      { id: job.id, since: job.updatedAt, hasResults: false },
      { timeoutMs: 60_000, signal: neverAborted },
    );
    await failed(job.id);
    const event = await wait;
    expect(JSON.parse(String(event?.bytes({ hasResults: false })).split('data: ')[1] ?? '')).not.toHaveProperty(
      'results',
    );
    const polls = asked.mock.calls.filter(([text]) => text.includes('unnest($1::uuid[], $2::timestamptz[]'));
    expect(polls.map(([, parameters]) => (parameters as unknown as unknown[])[2])).toContainEqual([false]);
    asked.mockRestore();
  });

  it('a client that has its event, has waited long enough or has left is forgotten', async () => {
    const { job } = await jobs.insertOrFind(newJob());
    const watched = { id: job.id, since: new Date(0), hasResults: true };
    const left = new AbortController();
    const waits = [
      watcher.next(watched, { timeoutMs: 60_000, signal: neverAborted }),
      watcher.next({ ...watched, id: randomUUID() }, { timeoutMs: 1, signal: neverAborted }),
      watcher.next({ ...watched, id: randomUUID() }, { timeoutMs: 60_000, signal: left.signal }),
    ];
    expect(watcher.size).toBe(3);
    left.abort();
    const [event, ...others] = await Promise.all(waits);
    expect([event?.updatedAt, ...others]).toEqual([job.updatedAt, null, null]);
    expect(watcher.size).toBe(0);
    const stopped = watcher.next({ ...watched, id: randomUUID() }, { timeoutMs: 60_000, signal: neverAborted });
    watcher.stop();
    expect(await stopped).toBeNull();
    expect(watcher.size).toBe(0);
  });
});
