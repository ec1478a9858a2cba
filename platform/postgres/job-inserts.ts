import { DatabaseError } from 'pg';
import type { Job } from '#domain/jobs/job.ts';
import { liveStatuses } from '#domain/jobs/status.ts';
import { CoalescedCalls } from '#platform/concurrency/coalesced-calls.ts';
import type { Database } from './database.ts';
import { answersEqual, giveUpKeyOfDeleted } from './equal-keys.ts';
import {
  describedColumns,
  describedValues,
  insertedColumns,
  insertedValues,
  isDescribed,
  jobColumns,
  jobOfNew,
  type JobRow,
  jobOfRow,
  type NewJob,
} from './job-row.ts';
import { type InsertedWithinQuotas, insertWithinQuotas, type JobWithinQuotas } from './quotas.ts';

// One statement for any number of jobs: the partial unique index decides between new and existing. Rows are inserted in
// the order of their keys, so that two such statements cannot deadlock. Only a new row's time is returned: the whole
// row would cost more than the statement.
const insertOf = (moreColumns: string, moreArrays: string) => `
  insert into jobs (${insertedColumns}${moreColumns})
  select * from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::json[], $6::text[], $7::text[],
    $8::bigint[], $9::text[], $10::text[], $11::uuid[], $12::json[], $13::text[], $14::int[], $15::json[],
    $16::uuid[], $17::text[], $18::uuid[], $19::text[]${moreArrays})
    as given (${insertedColumns}${moreColumns})
  order by idempotency_key
  on conflict (idempotency_key) where status not in ('failed', 'cancelled') do nothing
  returning id, created_at`;
const insert = insertOf('', '');
const insertDescribed = insertOf(`, ${describedColumns}`, ', $20::text[], $21::json[]');
const findLive = `
  select ${jobColumns}, idempotency_key from jobs
  where idempotency_key = any($1) and status = any($2) and ${answersEqual}`;

type LiveJobs = (Job | null | Promise<Job | null>)[];

/** Inserts of jobs. Calls that arrive together share a statement, but those of keys with quotas. */
export class JobInserts {
  readonly #inserts: CoalescedCalls<NewJob, Job | null>;
  readonly #withinQuotas: CoalescedCalls<JobWithinQuotas, InsertedWithinQuotas>;
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
    // Two at once: one is being written while the other is answered. The pool has connections for everything else.
    this.#inserts = new CoalescedCalls({ run: (newJobs) => insertAll(database, newJobs), sizeMax: 500, atOnceMax: 2 });
    // They wait for one another: in this process without a connection.
    const insertEach = (jobs: readonly JobWithinQuotas[]) =>
      Promise.all(jobs.map((job) => insertWithinQuotas(database, job)));
    this.#withinQuotas = new CoalescedCalls({ run: insertEach, sizeMax: 1, atOnceMax: 2 });
  }

  /** See `JobStore.insertOrFind`. */
  async insertOrFind(newJob: NewJob): Promise<InsertedWithinQuotas> {
    const { keyId, quotas } = newJob;
    if (keyId && quotas) return this.#withinQuotas.add({ newJob, keyId, quotas });
    // Null when the equal job ended between the two statements, or its media is deleted: try again.
    for (let tries = 0; tries < 100; tries++) {
      const job = await this.#inserts.add(newJob);
      if (job !== null) return { job, isNew: job.id === newJob.id };
      await giveUpKeyOfDeleted(this.#database.pool, newJob.idempotencyKey);
    }
    throw new Error('100 equal jobs began and ended while this one was inserted');
  }
}

/** For each new job the live one of its idempotency key, itself or an earlier one; null when it ended meanwhile. */
async function insertAll(database: Database, newJobs: readonly NewJob[]): Promise<LiveJobs> {
  const areDescribed = newJobs.some(isDescribed);
  const rowsOfValues = newJobs.map((job) => [...insertedValues(job), ...(areDescribed ? describedValues(job) : [])]);
  const columns = rowsOfValues[0]?.map((_, column) => rowsOfValues.map((values) => values[column])) ?? [];
  try {
    const { rows } = await database.pool.query<Pick<JobRow, 'id' | 'created_at'>>(
      areDescribed ? insertDescribed : insert,
      columns,
    );
    const createdAt = new Map(rows.map((row) => [row.id, row.created_at]));
    const existing = newJobs.filter(({ id }) => !createdAt.has(id));
    const live = await findLiveJobs(
      database,
      existing.map(({ idempotencyKey }) => idempotencyKey),
    );
    return newJobs.map((newJob) => {
      const at = createdAt.get(newJob.id);
      return at === undefined ? (live.get(newJob.idempotencyKey) ?? null) : jobOfNew(newJob, at);
    });
  } catch (error) {
    if (newJobs.length === 1 || !isAboutRows(error)) throw error;
    // One invalid job must not make the others of its batch fail.
    return newJobs.map(async (newJob) => (await insertAll(database, [newJob]))[0] ?? null);
  }
}

/** The live jobs of idempotency keys, by key. */
async function findLiveJobs(database: Database, keys: readonly string[]): Promise<ReadonlyMap<string, Job>> {
  if (keys.length === 0) return new Map();
  const found = await database.pool.query<JobRow & { idempotency_key: string }>(findLive, [keys, liveStatuses]);
  return new Map(found.rows.map((row) => [row.idempotency_key, jobOfRow(row)]));
}

/** Whether an error is about the values of a row (SQLSTATE classes 22 and 23), not about the server. */
function isAboutRows(error: unknown): boolean {
  return error instanceof DatabaseError && /^2[23]/.test(error.code ?? '');
}
