import type { ShownJob } from '#domain/jobs/job.ts';
import type { Database } from './database.ts';
import { type JobRow, jobOfRow, shownColumns } from './job-row.ts';

const sql = {
  changed: `
    select ${shownColumns} from jobs
    join unnest($1::uuid[], $2::timestamptz[]) as watched (watched_id, since) on id = watched_id
    where updated_at > since`,
} as const;

/** What the API reads of jobs beyond a job by its id. */
export class JobQueries {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The watched jobs that have changed since `since`, the `updatedAt` that the caller knows. */
  async changed(watched: readonly { readonly id: string; readonly since: Date }[]): Promise<ShownJob[]> {
    const parameters = [watched.map(({ id }) => id), watched.map(({ since }) => since)];
    const { rows } = await this.#database.pool.query<JobRow>(sql.changed, parameters);
    return rows.map(jobOfRow);
  }
}
