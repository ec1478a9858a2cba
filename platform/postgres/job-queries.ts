import type { Job } from '#domain/jobs/job.ts';
import { liveStatuses } from '#domain/jobs/status.ts';
import type { Database } from './database.ts';
import { jobColumns, type JobRow, jobOfRow } from './job-row.ts';

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
    const { rows } = await this.#database.pool.query<JobRow>(
      `select ${jobColumns} from jobs where idempotency_key = $1 and status = any($2)`,
      [idempotencyKey, liveStatuses],
    );
    return rows[0] === undefined ? null : jobOfRow(rows[0]);
  }
}
