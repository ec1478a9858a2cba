import { poolOfQueue } from '#domain/jobs/routing.ts';
import type { PoolClient } from 'pg';
import { itemStatuses, type Rollout, type RolloutCounts, type RolloutSpec } from '#domain/rollouts/rollout.ts';
import type { Database } from './database.ts';

/** The pool whose slots a job takes, in SQL: its own, or that of its queue. */
export const slotsOf = `coalesce(jobs.pool, case jobs.queue ${Object.entries(poolOfQueue)
  .map(([queue, pool]) => `when '${queue}' then '${pool}'`)
  .join(' ')} end)`;
/** A rerun that gave way so often keeps its slot: its work would never be done. */
export const gaveWayMax = 3;
/** For how long a rerun that gave way waits, in SQL: 30 s, 60 s, 120 s. */
export const pauseAfter = (times: string) => `interval '30 seconds' * 2 ^ (${times} - 1)`;

/** The columns of rollout_counts by the fields of `RolloutCounts`. */
const countColumns = {
  ...(Object.fromEntries(itemStatuses.map((status) => [status, status])) as {
    readonly [Status in (typeof itemStatuses)[number]]: Status;
  }),
  bytesBefore: 'bytes_before',
  bytesAfter: 'bytes_after',
  scored: 'scored',
  scoreSum: 'score_sum',
  compared: 'compared',
  comparedBeforeSum: 'compared_before_sum',
  comparedAfterSum: 'compared_after_sum',
} as const satisfies Record<keyof RolloutCounts, string>;

const countFields = Object.entries(countColumns)
  .map(([field, column]) => `'${field}', ${column}`)
  .join(', ');
const countsOf = (isCanary: boolean) => `
  (select json_build_object(${countFields}) from rollout_counts
   where rollout_id = rollouts.id and is_canary = ${isCanary})`;

/** The columns of a `RolloutRow`. */
export const rolloutColumns = `
  id, spec, profile, status, key_id as "keyId", paused as "isPaused", reason, verdict, is_planned as "isPlanned", skipped,
  ${countsOf(true)} as canary, ${countsOf(false)} as rest,
  case when spent_day = (now() at time zone 'utc')::date then spent_core_s / 3600 else 0 end as "hoursToday",
  created_at as "createdAt", updated_at as "updatedAt", finished_at as "finishedAt"`;

/** A row as the driver gives it: it has the names of `Rollout`. */
export type RolloutRow = Rollout;

/** The row that a transaction about a rollout reads first, and locks. */
export interface LockedRollout extends Pick<Rollout, 'id' | 'status' | 'isPaused' | 'isPlanned' | 'skipped'> {
  readonly spec: RolloutSpec;
  readonly profile: unknown;
  readonly plannedAfter: string;
}

const lock = `
  select id, spec, profile, status, paused as "isPaused", is_planned as "isPlanned", skipped,
    planned_after as "plannedAfter"
  from rollouts where id = $1 for update`;

/**
 * A transaction that holds the row of a rollout: whatever changes items and their counts comes one after another. Null
 * when there is no such rollout.
 */
export function inRollout<T>(
  database: Database,
  id: string,
  work: (client: PoolClient, rollout: LockedRollout) => Promise<T>,
): Promise<T | null> {
  return database.transaction(async (client) => {
    const { rows } = await client.query<LockedRollout>(lock, [id]);
    return rows[0] === undefined ? null : work(client, rows[0]);
  });
}
