import type { Job } from '#domain/jobs/job.ts';
import { liveStatuses } from '#domain/jobs/status.ts';
import type { Database } from './database.ts';
import { jobColumns, type JobRow, jobOfRow } from './job-row.ts';

const sql = {
  findLive: `select ${jobColumns} from jobs where idempotency_key = $1 and status = any($2)`,
  changed: `
    select ${jobColumns} from jobs
    join unnest($1::uuid[], $2::timestamptz[]) as watched (watched_id, since) on id = watched_id
    where updated_at > since`,
} as const;

/** What the API reads of jobs beyond a job by its id. */
export class JobQueries {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * The live job of an equal submission, null when there is none. Only a look ahead, which spares a repeated submission
   * the preflight: `JobStore.insertOrFind` decides.
   */
  async findLive(idempotencyKey: string): Promise<Job | null> {
    const { rows } = await this.#database.pool.query<JobRow>(sql.findLive, [idempotencyKey, liveStatuses]);
    return rows[0] === undefined ? null : jobOfRow(rows[0]);
  }

  /** Those of the watched jobs that have changed since `since`, the `updatedAt` that the caller knows. */
  async changed(watched: readonly { readonly id: string; readonly since: Date }[]): Promise<Job[]> {
    const parameters = [watched.map(({ id }) => id), watched.map(({ since }) => since)];
    const { rows } = await this.#database.pool.query<JobRow>(sql.changed, parameters);
    return rows.map(jobOfRow);
  }
}
