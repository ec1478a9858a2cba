import type { JobResults, JobType } from '#domain/job-types/index.ts';
import type { Database } from './database.ts';
import { claimDue, claimText } from './due-work.ts';
import { lockedInOrder } from './row-locks.ts';

/** A final job whose objects are to be cleaned up. */
export interface JobToCleanUp {
  readonly jobId: string;
  readonly type: JobType;
  readonly hash: string;
  /** Its last attempt, from 1; every attempt before may have left a revision. */
  readonly attempt: number;
  /** The revisions of its chunked encodes, where a deletion noted them. */
  readonly chunkedRevs: readonly string[] | null;
}

const claim = claimText('cleanup', {
  set: 'cleanup_attempts = cleanup_attempts + 1',
  returning: 'id as "jobId", type, hash, attempt, chunked_revs as "chunkedRevs"',
});
// The text is searched, not the json: it need not be parsed, and none of it leaves the server.
const named = `
  select rev from unnest($1::uuid[], $2::text[]) as made (job_id, rev) join jobs on id = job_id
  where strpos(results::text, '/' || rev || '/') > 0`;
const markSwept = `update jobs set swept_at = now() where ${lockedInOrder('jobs', 'id = any($1)')}`;

/** Which final jobs may have left objects behind: each is cleaned up once. Times are the database's. */
export class CleanupStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Takes jobs that ended more than `graceMs` ago and were not cleaned up, at most `limit`, the longest ended first. No
   * other call returns them until they are marked or their delay has passed.
   */
  claim({ graceMs, limit }: { readonly graceMs: number; readonly limit: number }): Promise<JobToCleanUp[]> {
    return claimDue<JobToCleanUp>(this.#database, claim, { limit, delayMs: graceMs });
  }

  /** The results of a job; one at a time, as they may be large. */
  async resultsOf(jobId: string): Promise<JobResults | null> {
    const text = 'select results from jobs where id = $1';
    const { rows } = await this.#database.pool.query<{ results: JobResults | null }>(text, [jobId]);
    return rows[0]?.results ?? null;
  }

  /** Which of these revisions the results of their jobs name. */
  async namedRevisions(
    made: readonly { readonly jobId: string; readonly rev: string }[],
  ): Promise<ReadonlySet<string>> {
    const parameters = [made.map(({ jobId }) => jobId), made.map(({ rev }) => rev)];
    const { rows } = await this.#database.pool.query<{ rev: string }>(named, parameters);
    return new Set(rows.map(({ rev }) => rev));
  }

  /** Notes that the jobs were cleaned up. */
  async markSwept(jobIds: readonly string[]): Promise<void> {
    await this.#database.pool.query(markSwept, [jobIds]);
  }
}
