import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { KnownProblem } from '#domain/errors.ts';
import type { JobResults } from '#domain/job-types/index.ts';
import type { KeyQuotas } from '#domain/keys/quotas.ts';
import { type Database, openDatabase } from '#platform/postgres/database.ts';
import { JobStore, type NewJob } from '#platform/postgres/job-store.ts';
import { migratedDatabase } from '../../testing/databases.ts';
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

describe.skipIf(!inject('postgres'))('quotas', () => {
  const databases: Database[] = [];
  const servers: JobStore[] = [];
  let drop: () => Promise<void>;
  beforeAll(async () => {
    const created = await migratedDatabase();
    ({ drop } = created);
    for (let server = 0; server < 2; server += 1) databases.push(openDatabase(created.url, { maxConnections: 5 }));
    servers.push(...databases.map((database) => new JobStore(database)));
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
