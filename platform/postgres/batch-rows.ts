import type { Job } from '#domain/jobs/job.ts';
import type { JobType } from '#domain/job-types/index.ts';
import type { QueueName } from '#domain/jobs/routing.ts';
import { activeStatuses } from '#domain/jobs/status.ts';
import type { Database } from './database.ts';

/** Jobs of some types that wait in a queue. */
interface WaitingTypes {
  readonly queue: QueueName;
  readonly types: readonly JobType[];
  readonly limit: number;
}

// Only first attempts: what follows a failed or interrupted one runs by itself.
const firstAttempts = `
  select id from jobs
  where status = 'queued' and lease_owner is null and queue = $1 and type = any($2)
    and attempt = 1 and pool is null and priority = 0 and coalesce(not_before, now()) <= now()
  order by created_at limit $3`;
const countHeld = `
  select count(*)::int as jobs from (
    select from jobs where lease_owner = $1 and type = any($2) and status = any($3) limit $4
  ) as held`;
const heldUnder = `
  select id, attempt, lease_owner as owner from jobs
  where lease_owner is not null and starts_with(lease_owner, $1) and status = any($2)`;

/** A job that is claimed for a batch. */
export type BatchedJob = Pick<Job, 'id' | 'attempt'> & { readonly owner: string };

/** What is asked of the rows of jobs that share a runner. */
export class BatchRows {
  protected readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  /** The ids of jobs that wait for their first attempt, in no chosen pool and with no priority, the oldest first. */
  async firstAttempts({ queue, types, limit }: WaitingTypes): Promise<string[]> {
    const { rows } = await this.database.pool.query<{ id: string }>(firstAttempts, [queue, types, limit]);
    return rows.map(({ id }) => id);
  }

  /** How many jobs of these types `owner` holds, counted up to `limit`. */
  async countHeld(owner: string, { types, limit }: Omit<WaitingTypes, 'queue'>): Promise<number> {
    const parameters = [owner, types, activeStatuses, limit];
    const { rows } = await this.database.pool.query<{ jobs: number }>(countHeld, parameters);
    return rows[0]?.jobs ?? 0;
  }

  /** Every active job whose owner begins with `prefix`. */
  async heldUnder(prefix: string): Promise<BatchedJob[]> {
    const { rows } = await this.database.pool.query<BatchedJob>(heldUnder, [prefix, activeStatuses]);
    return rows;
  }
}
