import type { Job } from '#domain/jobs/job.ts';
import { batchable, batchTypes } from '#domain/work/batchable.ts';
import { activeStatuses } from '#domain/jobs/status.ts';
import type { Database } from './database.ts';
import { keyOf } from './turn-rows.ts';

const keyOfRow = keyOf('jobs');
const columns = Object.entries(batchable).map(([column, value]) =>
  value === null ? `${column} is null` : `${column} = ${typeof value === 'string' ? `'${value}'` : value}`,
);
// The index jobs_first_attempts_by_key.
const waitsForBatch = `
  status = 'queued' and lease_owner is null and ${columns.join(' and ')} and coalesce(not_before, now()) <= now()`;
const nextKey = (condition: string) => `
  select ${keyOfRow} as key from jobs where ${waitsForBatch} and ${condition} order by ${keyOfRow} limit 1`;
// A short scan of the index for each key and type: as many of each key as all keys share.
const batchables = `
  with recursive keys as (
    (${nextKey('true')})
    union all
    select following.key from keys cross join lateral (${nextKey(`${keyOfRow} > keys.key`)}) as following
  ), share as (select greatest(1, $2::int / greatest(1, count(*))) as jobs from keys)
  select id, key from keys cross join unnest($1::text[]) as wanted (wanted_type) cross join lateral (
    select id, created_at from jobs where type = wanted_type and ${keyOfRow} = keys.key and ${waitsForBatch}
    order by created_at limit (select jobs from share)
  ) as oldest order by created_at limit $2`;
const isWaiting = `select from jobs where id = $2 and type = any($1) and ${waitsForBatch}`;
const countClaimed = `
  select count(*)::int as jobs from (
    select from jobs where lease_owner = $1 and type = any($2) and status = any($3) limit $4
  ) as held`;
const claimedUnder = `
  select id, attempt, lease_owner as owner from jobs
  where lease_owner is not null and starts_with(lease_owner, $1) and status = any($2)`;

/** A waiting job that a batch may take, and its key, which is empty where no API key asked for it. */
export interface BatchableJob {
  readonly id: string;
  readonly key: string;
}

/** A job that is claimed for a batch. */
export type BatchedJob = Pick<Job, 'id' | 'attempt'> & { readonly owner: string };

/** Reads the rows of jobs that share a runner. */
export class BatchRows {
  protected readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  /** The waiting jobs that a batch may take, as many of each key as of all others, the oldest first. */
  async batchables(limit: number): Promise<BatchableJob[]> {
    return (await this.database.pool.query<BatchableJob>(batchables, [batchTypes, limit])).rows;
  }

  /** Whether the job is one of these. */
  async waitsForBatch(jobId: string): Promise<boolean> {
    return (await this.database.pool.query(isWaiting, [batchTypes, jobId])).rowCount === 1;
  }

  /** How many active jobs of types that share a runner `owner` has claimed, counted up to `limit`. */
  async countClaimed(owner: string, limit: number): Promise<number> {
    const parameters = [owner, batchTypes, activeStatuses, limit];
    const { rows } = await this.database.pool.query<{ jobs: number }>(countClaimed, parameters);
    return rows[0]?.jobs ?? 0;
  }

  /** Every active job whose owner begins with `prefix`. */
  async claimedUnder(prefix: string): Promise<BatchedJob[]> {
    const { rows } = await this.database.pool.query<BatchedJob>(claimedUnder, [prefix, activeStatuses]);
    return rows;
  }
}
