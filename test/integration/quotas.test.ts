import { setTimeout as sleep } from 'node:timers/promises';
import type { PoolClient } from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { KnownProblem } from '#domain/errors.ts';
import { jobErrorOf } from '#domain/job-error.ts';
import type { JobResults } from '#domain/job-types/index.ts';
import type { KeyQuotas } from '#domain/keys/quotas.ts';
import { type Database, openDatabase } from '#platform/postgres/database.ts';
import { JobStore, type NewJob } from '#platform/postgres/job-store.ts';
import { MediaDeletionStore } from '#platform/postgres/media-deletion-store.ts';
import { lockKey } from '#platform/postgres/quota-use.ts';
import { migratedDatabase } from '../../testing/databases.ts';
import { makeKey } from '../../testing/named-keys.ts';
import { failure, newJob } from './postgres-fixtures.ts';

// docs/reference/contract.md, "Quotas": decided in the transaction of the insert, whichever server it is of.

const stream = { source: { duration_sec: 3600 }, video_tracks: [{}], audio_tracks: [] } as unknown as JobResults;

const refused = async (submission: Promise<unknown>) => {
  const thrown: unknown = await submission.then(
    () => null,
    (error: unknown) => error,
  );
  if (!(thrown instanceof KnownProblem)) throw new Error('a refusal was expected', { cause: thrown });
  expect(thrown.code).toBe('rate_limited');
  return thrown.details.faults?.map(({ code }) => code);
};

/** Pauses after what a transaction reads of a quota: whatever does not wait for the others then reads the same. */
function slow(client: PoolClient): PoolClient {
  return Object.assign(Object.create(client) as PoolClient, {
    query: async (...given: unknown[]) => {
      const answer = await (client.query as (...all: unknown[]) => Promise<unknown>)(...given);
      if (String(given[0]).includes('from usage_daily')) await sleep(20);
      return answer;
    },
  });
}

function slowBetween(database: Database): Database {
  return { ...database, transaction: (work) => database.transaction((client) => work(slow(client))) };
}

const ids = (tickets: readonly { jobId: string }[]) => tickets.map(({ jobId }) => jobId);

describe.skipIf(!inject('postgres'))('quotas', () => {
  const databases: Database[] = [];
  const servers: JobStore[] = [];
  let drop: () => Promise<void>;
  beforeAll(async () => {
    const created = await migratedDatabase();
    ({ drop } = created);
    for (let server = 0; server < 2; server += 1) databases.push(openDatabase(created.url, { maxConnections: 5 }));
    servers.push(...databases.map((database) => new JobStore(slowBetween(database))));
  });
  afterAll(async () => {
    for (const database of databases) await database.close();
    await drop();
  });

  const store = () => servers[0] as JobStore;
  const submit = (keyId: string, quotas: KeyQuotas | null, over: Partial<NewJob> = {}, server = 0) =>
    (servers[server] as JobStore).insertOrFind(newJob({ keyId, quotas, ...over }));
  const end = async (id: string, results: JobResults | null = null, bytes = 0) => {
    await store().claim({ jobId: id, attempt: 1, owner: 'w', leaseMs: 60_000 });
    const made = { objects: 1, bytes };
    const ended = results === null ? {} : { status: 'completed' as const, results, error: null, made };
    await store().finish(failure(id, 1, ended));
  };

  it('C37.10: of forty submissions at once to two servers as many are accepted as the quota has, and no more', async () => {
    const quotas = { jobs_at_once: 7 };
    const outcomes = await Promise.allSettled(
      Array.from({ length: 40 }, (_, index) => submit('edge', quotas, {}, index % 2)),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(7);
    const { rows } = await (databases[0] as Database).pool.query(
      `select count(*)::int from jobs where key_id = 'edge'`,
    );
    expect(rows).toEqual([{ count: 7 }]);
  });

  it('C37.10: a job that ends makes room at once, and counts for its day', async () => {
    const quotas = { jobs_at_once: 1, jobs_a_day: 2 };
    const first = await submit('turns', quotas);
    expect(await refused(submit('turns', quotas))).toEqual(['jobs_at_once']);
    await end(first.job.id);
    const second = await submit('turns', quotas);
    expect(await refused(submit('turns', quotas))).toEqual(['jobs_at_once', 'jobs_a_day']);
    await end(second.job.id);
    expect(await refused(submit('turns', quotas))).toEqual(['jobs_a_day']);
  });

  it('C37.10: an end and submissions at the same moment never come to more than the quota', async () => {
    const quotas = { jobs_a_day: 12 };
    const running = await Promise.all(Array.from({ length: 6 }, () => submit('moving', quotas)));
    const more = Array.from({ length: 20 }, (_, index) => submit('moving', quotas, {}, index % 2));
    const [outcomes] = await Promise.all([Promise.allSettled(more), ...running.map(({ job }) => end(job.id))]);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(6);
  });

  it('C37.11: an equal submission is answered by the job that is there, also by a key that has used up its quota', async () => {
    const quotas = { jobs_a_day: 1 };
    const given = newJob({ keyId: 'equal', quotas });
    const { job } = await store().insertOrFind(given);
    const again = await store().insertOrFind({ ...given, id: crypto.randomUUID() });
    expect(again).toMatchObject({ isNew: false, job: { id: job.id } });
    expect(await refused(submit('equal', quotas))).toEqual(['jobs_a_day']);
  });

  it.each<[keyof KeyQuotas, KeyQuotas]>([
    ['output_minutes_a_day', { output_minutes_a_day: 60 }],
    ['stored_bytes', { stored_bytes: 5_000 }],
  ])('C37.10: what ended counts for %s', async (name, quotas) => {
    const { job } = await submit(name, quotas);
    expect((await submit(name, quotas)).isNew).toBe(true);
    await end(job.id, stream, 5_000);
    expect(await refused(submit(name, quotas))).toEqual([name]);
    await (databases[0] as Database).pool.query('update jobs set results_expired = true where id = $1', [job.id]);
    if (name === 'stored_bytes') expect((await submit(name, quotas)).isNew).toBe(true);
  });

  it('C37.10: attempts of every end count for processor_hours_a_day', async () => {
    const quotas = { processor_hours_a_day: 1 };
    const { job } = await submit('hours', quotas);
    await store().claim({ jobId: job.id, attempt: 1, owner: 'w', leaseMs: 60_000 });
    const run = { started_at: new Date(0).toISOString(), duration_ms: 1, processor_ms: 3_600_000, code: null };
    const units = [{ unit: 'whole' as const, chunk: null, pod: null, steps: [{ step: 'process' as const, ...run }] }];
    await store().nextAttempt({ jobId: job.id, attempt: 1, countsAsFailure: true, delayMs: 0, units });
    expect(await refused(submit('hours', quotas))).toEqual(['processor_hours_a_day']);
  });

  it('C37.12: retries are within the quotas of the key that asks for them', async () => {
    const quotas = { jobs_at_once: 1 };
    const failed = await submit('retries', quotas);
    await end(failed.job.id);
    const other = await submit('retries', quotas);
    const newJobs = () => [newJob({ keyId: 'retries', quotas, retryOfJobId: failed.job.id })];
    const retry = () => store().createRetries({ jobId: failed.job.id, newJobs });
    expect(await refused(retry())).toEqual(['jobs_at_once']);
    await end(other.job.id);
    expect(await retry()).toMatchObject({ outcome: 'created' });
  });

  it('C37.13: from 80 % on the answer names the quotas that are near', async () => {
    const quotas = { jobs_at_once: 5, jobs_a_day: 100 };
    const near = [];
    for (let job = 0; job < 5; job += 1) near.push((await submit('near', quotas)).near);
    expect(near.slice(0, 3)).toEqual([[], [], []]);
    expect(near.slice(3)).toEqual([4, 5].map((used) => [{ name: 'jobs_at_once', used, limit: 5, until: null }]));
  });

  /** A key with quotas for whose jobs there is to wait. */
  const waiting = async (name: string, quotas: KeyQuotas) => {
    const waits = { ...quotas, when_reached: 'wait' } as const;
    const { id } = await makeKey(databases[0] as Database, { name, rights: ['submit'], quotas: waits });
    return { id, submit: (server = 0) => submit(id, waits, {}, server) };
  };
  it('C37.22: with `when_reached` wait a job beyond a quota is accepted, and begins when one has ended, the first first', async () => {
    const key = await waiting('waits', { jobs_at_once: 2 });
    const jobs = [];
    for (let job = 0; job < 4; job += 1) jobs.push((await key.submit()).job);
    expect(jobs.map(({ waitingReason }) => waitingReason?.code)).toEqual([
      undefined,
      undefined,
      'key_quota',
      'key_quota',
    ]);
    expect(jobs[2]?.waitingReason?.message).toContain('2 of 2 of its quota jobs_at_once');
    const [first, , third, fourth] = jobs.map(({ id }) => id) as [string, string, string, string];
    expect(await store().claim({ jobId: third, attempt: 1, owner: 'w', leaseMs: 60_000 })).toBeNull();
    expect(await store().withoutTicket({ olderThanMs: -3_600_000, limit: 100 })).not.toMatchObject([{ jobId: third }]);
    expect(await store().releaseHeld()).toEqual([]);
    await end(first);
    // One that comes meanwhile is behind those that wait.
    const late = await key.submit();
    expect(late.job.waitingReason?.code).toBe('key_quota');
    expect(ids(await store().releaseHeld())).toEqual([third]);
    expect(await store().find(third)).toMatchObject({ status: 'queued', waitingReason: null });
    await end(third);
    expect(ids(await store().releaseHeld())).toEqual([fourth]);
  });

  it('C37.22: jobs wait for the next day where a quota of the day is used up', async () => {
    const key = await waiting('tomorrow', { jobs_a_day: 1 });
    await end((await key.submit()).job.id);
    const { job } = await key.submit();
    expect(job.waitingReason?.message).toMatch(/1 of 1 of its quota jobs_a_day until \d{4}-.*T00:00:00.000Z/);
    expect(await store().releaseHeld()).toEqual([]);
    const { pool } = databases[0] as Database;
    await pool.query('update usage_daily set day = day - 1 where key_id = $1', [key.id]);
    expect(ids(await store().releaseHeld())).toEqual([job.id]);
  });

  it('C37.22: submissions, ends and releases at once on two servers never come to more at work than the quota', async () => {
    const key = await waiting('crowd', { jobs_at_once: 3 });
    const { pool } = databases[0] as Database;
    const working = `
      select count(*)::int from jobs where key_id = $1 and finished_at is null and not_before is distinct from 'infinity'`;
    const all = await Promise.all(Array.from({ length: 12 }, (_, index) => key.submit(index % 2)));
    const begun = new Set(all.filter(({ job }) => job.waitingReason === null).map(({ job }) => job.id));
    expect(begun.size).toBe(3);
    for (let ended = 0; ended < 12; ended += 1) {
      const next = [...begun][ended] as string;
      const released = await Promise.all([end(next), ...servers.map((server) => server.releaseHeld())]);
      const later = await Promise.all(servers.map((server) => server.releaseHeld()));
      for (const id of [...released.slice(1), ...later].flatMap((tickets) => ids(tickets as { jobId: string }[]))) {
        expect(begun.has(id)).toBe(false);
        begun.add(id);
      }
      expect((await pool.query<{ count: number }>(working, [key.id])).rows[0]?.count).toBeLessThanOrEqual(3);
    }
    expect(begun.size).toBe(12);
  });

  it('C37.22: a job that waits is cancelled like any other, and those of a revoked key begin', async () => {
    const quotas = { jobs_at_once: 1, when_reached: 'wait' } as const;
    const jobs = [];
    for (let job = 0; job < 3; job += 1) jobs.push((await submit('revoked', quotas)).job.id);
    const [, second, third] = jobs as [string, string, string];
    await store().finish(failure(second, 1, { status: 'cancelled', error: jobErrorOf('cancelled', 1) }));
    expect(ids(await store().releaseHeld())).toEqual([third]);
  });

  it('C37.22: a job that waits for a quota gets no ticket by the end of a deletion of its media', async () => {
    const quotas = { jobs_at_once: 1, when_reached: 'wait' } as const;
    const [database] = databases as [Database];
    const deletions = new MediaDeletionStore(database);
    const { job: first } = await submit('deleted', quotas, { hash: 'deleted' });
    const deletion = await deletions.begin({
      id: crypto.randomUUID(),
      hash: 'deleted',
      reason: 'request',
      purge: null,
    });
    const { job } = await submit('deleted', quotas, { hash: 'deleted', source: 'other.mp4', idempotencyKey: 'other' });
    await store().finish(failure(first.id));
    const { id = '' } = deletion?.deletion ?? {};
    await deletions.recordObjects(id, { objects: 0, bytes: 0, sha256: '' });
    expect(await deletions.finish({ id, hash: 'deleted' }, () => ({}) as never)).not.toBeNull();
    const { rows } = await database.pool.query(`select ticketed_at = 'infinity' as "isHeld" from jobs where id = $1`, [
      job.id,
    ]);
    expect(rows).toEqual([{ isHeld: true }]);
    expect(ids(await store().releaseHeld())).toEqual([job.id]);
  });

  it('C37.22: quotas that are lowered while a release waits for its turn hold for that release', async () => {
    const key = await waiting('lowered', { jobs_at_once: 2 });
    const jobs = [];
    for (let job = 0; job < 3; job += 1) jobs.push((await key.submit()).job.id);
    await end(jobs[0] as string);
    const [{ pool }, other] = databases as [Database, Database];
    const releasing = await other.transaction(async (client) => {
      await lockKey(client, key.id);
      const released = store().releaseHeld();
      const isWaiting = `select from pg_locks join pg_database on pg_database.oid = database
        where locktype = 'advisory' and not granted and datname = current_database()`;
      await expect.poll(async () => (await pool.query(isWaiting)).rowCount, { timeout: 10_000 }).toBe(1);
      await pool.query('update api_keys set quotas = $2 where id = $1', [
        key.id,
        { jobs_at_once: 1, when_reached: 'wait' },
      ]);
      return { released };
    });
    expect(await releasing.released).toEqual([]);
    await end(jobs[1] as string);
    expect(ids(await store().releaseHeld())).toEqual([jobs[2]]);
  });

  it('C37.14: a key without quotas costs no statement and no lock', async () => {
    const { pool } = databases[0] as Database;
    const query = pool.query.bind(pool) as (...given: unknown[]) => Promise<unknown>;
    const texts: string[] = [];
    pool.query = ((...given: unknown[]) => {
      texts.push(String(given[0]).trim().slice(0, 16));
      return query(...given);
    }) as typeof pool.query;
    await submit('free', null);
    pool.query = query as typeof pool.query;
    expect(texts).toEqual(['insert into jobs']);
  });
});
