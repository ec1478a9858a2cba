import { jobTypeNames, type JobResults, jobTypeRow } from '#domain/job-types/index.ts';
import type { Database } from './database.ts';

/** A final job whose objects are to be cleaned up. */
export interface JobToCleanUp {
  readonly jobId: string;
  readonly hash: string;
  /** Its last attempt, from 1; every attempt before may have left a revision. */
  readonly attempt: number;
  readonly results: JobResults | null;
}

interface Row {
  readonly id: string;
  readonly hash: string;
  readonly attempt: number;
  readonly results: JobResults | null;
}

const isDue = (job: string) => `${job}.finished_at < now() - $1 * interval '1 millisecond'`;
// The film of a job is also that of an equal one, such as its retry, which must not lose finished chunks.
const hasRecent = `exists (
  select from jobs other where other.hash = jobs.hash and other.id <> jobs.id and (${isDue('other')}) is not true)`;
const isUnswept = `swept_at is null and ${isDue('jobs')} and not (type = any($2::text[]) and ${hasRecent})`;
const typesWithChunks = jobTypeNames.filter((type) => jobTypeRow(type).hasChunks);
// A claimed job is not claimed again for 10, 20, 40, … minutes, a day at most: one that cannot be cleaned up, and one
// whose worker vanished, come back after the others.
const claim = `
  with due as (
    select id from jobs where ${isUnswept} and (cleanup_after is null or cleanup_after <= now())
    order by finished_at limit $3 for update skip locked
  )
  update jobs set cleanup_attempts = cleanup_attempts + 1,
    cleanup_after = now() + least(interval '1 day', interval '10 minutes' * 2 ^ least(cleanup_attempts, 10))
  from due where jobs.id = due.id
  returning jobs.id, hash, attempt, results`;
const backlogMax = 10_000;
const backlog = `select count(*)::int as jobs from (select from jobs where ${isUnswept} limit ${backlogMax}) unswept`;

/** Which final jobs may have left objects behind: each is cleaned up once. Times are the database's. */
export class CleanupStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Takes jobs that ended more than `graceMs` ago and were not cleaned up, at most `limit`, the longest ended first; not
   * yet one whose film another job of its hash may use.
   * No other call returns them until they are marked or their delay is over.
   */
  async claim({ graceMs, limit }: { readonly graceMs: number; readonly limit: number }): Promise<JobToCleanUp[]> {
    const { rows } = await this.#database.pool.query<Row>(claim, [graceMs, typesWithChunks, limit]);
    return rows.map(({ id, hash, attempt, results }) => ({ jobId: id, hash, attempt, results }));
  }

  /** Notes that the job was cleaned up. */
  async markSwept(jobId: string): Promise<void> {
    await this.#database.pool.query('update jobs set swept_at = now() where id = $1', [jobId]);
  }

  /** The number of jobs that ended more than `graceMs` ago and are not cleaned up; 10,000 stands for more as well. */
  async backlog(graceMs: number): Promise<number> {
    const { rows } = await this.#database.pool.query<{ jobs: number }>(backlog, [graceMs, typesWithChunks]);
    return rows[0]?.jobs ?? 0;
  }
}
