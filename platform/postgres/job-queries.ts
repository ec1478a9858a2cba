import type { ShownJob } from '#domain/jobs/job.ts';
import type { Database } from './database.ts';
import { type JobRow, jobOfRow, shownWithoutResults } from './job-row.ts';
import { isUuid } from './uuid.ts';

/** Results are read only where they are wanted: they may be larger than all else of a job. */
const columns = (hasResults: string) => `${shownWithoutResults}, case when ${hasResults} then results end as results`;

const sql = {
  find: `select ${columns('$2')} from jobs where id = $1`,
  changed: `
    select ${columns('has_results')} from jobs
    join unnest($1::uuid[], $2::timestamptz[], $3::bool[]) as watched (watched_id, since, has_results)
      on id = watched_id
    where updated_at > since`,
} as const;

/** A job that a caller waits for. */
export interface WatchedJob {
  readonly id: string;
  /** The `updatedAt` that the caller knows. */
  readonly since: Date;
  readonly hasResults: boolean;
}

/** Reads the jobs that clients of the API follow. Without `hasResults`, `results` is null. */
export class JobQueries {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The job, or null. */
  async find(id: string, hasResults: boolean): Promise<ShownJob | null> {
    if (!isUuid(id)) return null;
    const { rows } = await this.#database.pool.query<JobRow>(sql.find, [id, hasResults]);
    return rows[0] === undefined ? null : jobOfRow(rows[0]);
  }

  /** The watched jobs that have changed since `since`; each is named once. */
  async changed(watched: readonly WatchedJob[]): Promise<ShownJob[]> {
    const parameters = [
      watched.map(({ id }) => id),
      watched.map(({ since }) => since),
      watched.map(({ hasResults }) => hasResults),
    ];
    const { rows } = await this.#database.pool.query<JobRow>(sql.changed, parameters);
    return rows.map(jobOfRow);
  }
}
