import type { JobResults } from '#domain/job-types/index.ts';
import type { Database } from './database.ts';

/** A final job whose objects were not cleaned up yet. */
export interface JobToCleanUp {
  readonly jobId: string;
  readonly hash: string;
  /** Its last attempt, from 1; every attempt before may have left a revision. */
  readonly attempt: number;
  readonly results: JobResults | null;
}

interface JobToCleanUpRow {
  readonly id: string;
  readonly hash: string;
  readonly attempt: number;
  readonly results: JobResults | null;
}

const unswept = `
  select id, hash, attempt, results from jobs
  where swept_at is null and finished_at < $1
  order by finished_at limit $2`;

/** Which final jobs may have left objects behind: each is tidied up once. */
export class CleanupStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Jobs that ended before `endedBefore` and were not tidied up, the longest ended first. */
  async unswept(o: { readonly endedBefore: Date; readonly limit: number }): Promise<JobToCleanUp[]> {
    const { rows } = await this.#database.pool.query<JobToCleanUpRow>(unswept, [o.endedBefore, o.limit]);
    return rows.map(({ id, hash, attempt, results }) => ({ jobId: id, hash, attempt, results }));
  }

  /** Notes that the job was tidied up. */
  async markSwept(jobId: string, now: Date): Promise<void> {
    await this.#database.pool.query('update jobs set swept_at = $2 where id = $1', [jobId, now]);
  }
}
