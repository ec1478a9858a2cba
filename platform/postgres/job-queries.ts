import type { JobType } from '#domain/job-types/index.ts';
import type { Job } from '#domain/jobs/job.ts';
import { type JobStatus, liveStatuses } from '#domain/jobs/status.ts';
import type { Database } from './database.ts';
import { jobColumns, type JobRow, jobOfRow } from './job-row.ts';

/** Where a page of the list begins: after this job, which is the last of the page before. */
export interface JobCursor {
  readonly createdAt: Date;
  /** UUID. */
  readonly id: string;
}

/** Which jobs are listed; what is absent excludes none. */
export interface JobFilter {
  readonly type?: JobType | undefined;
  readonly status?: JobStatus | undefined;
  readonly hash?: string | undefined;
}

const sql = {
  findLive: `select ${jobColumns} from jobs where idempotency_key = $1 and status = any($2)`,
  list: `
    select ${jobColumns} from jobs
    where ($1::text is null or type = $1) and ($2::text is null or status = $2) and ($3::text is null or hash = $3)
      and ($4::timestamptz is null or (created_at, id) < ($4, $5::uuid))
    order by created_at desc, id desc limit $6`,
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

  /** At most `limit` jobs, the newest first. Jobs that are made while a caller pages through are on no page. */
  async list(filter: JobFilter, page: { after: JobCursor | null; limit: number }): Promise<Job[]> {
    const { type = null, status = null, hash = null } = filter;
    const { after, limit } = page;
    const parameters = [type, status, hash, after?.createdAt ?? null, after?.id ?? null, limit];
    const { rows } = await this.#database.pool.query<JobRow>(sql.list, parameters);
    return rows.map(jobOfRow);
  }

  /** Those of the watched jobs that have changed since `since`, the `updatedAt` that the caller knows. */
  async changed(watched: readonly { readonly id: string; readonly since: Date }[]): Promise<Job[]> {
    const parameters = [watched.map(({ id }) => id), watched.map(({ since }) => since)];
    const { rows } = await this.#database.pool.query<JobRow>(sql.changed, parameters);
    return rows.map(jobOfRow);
  }
}
