import type { PoolClient } from 'pg';
import type { Job } from '#domain/jobs/job.ts';
import {
  judgeQuotas,
  type KeyQuotas,
  quotaExceeded,
  type QuotaName,
  type QuotaUse,
  type UsedQuota,
} from '#domain/keys/quotas.ts';
import type { Database } from './database.ts';
import { findEqual, insertOrFind } from './equal-inserts.ts';
import type { NewJob } from './job-row.ts';

// Quotas of API keys. Jobs of one key are inserted one after another, on whichever server: each transaction counts what
// the ones before it made. What has ended is in usage_daily and what has not is in jobs; a job goes from one to the
// other in one commit, so a statement counts it once.

const lock = `select pg_advisory_xact_lock(hashtextextended('quotas ' || $1, 0))`;
const use = `
  with clock as (select clock_timestamp() at time zone 'UTC' as now),
  ended as (
    select coalesce(sum(jobs) filter (where day = now::date), 0)::float8 as jobs,
      coalesce(sum(output_ms) filter (where day = now::date), 0)::float8 as output_ms,
      coalesce(sum(fetch_ms + process_ms + publish_ms) filter (where day = now::date), 0)::float8 as processor_ms,
      coalesce(sum(stored_bytes), 0)::float8 as stored_bytes
    from usage_daily, clock where key_id = $1
  )
  select ended.*, (select count(*) from jobs where key_id = $1 and finished_at is null)::float8 as unfinished,
    (date_trunc('day', now) + interval '1 day') at time zone 'UTC' as day_ends_at,
    ceil(extract(epoch from date_trunc('day', now) + interval '1 day' - now))::float8 as day_ends_in_sec
  from ended, clock`;

interface UseRow {
  readonly jobs: number;
  readonly output_ms: number;
  readonly processor_ms: number;
  readonly stored_bytes: number;
  readonly unfinished: number;
  readonly day_ends_at: Date;
  readonly day_ends_in_sec: number;
}

/** A job to insert, with the key that asks for it. */
export interface JobWithinQuotas {
  readonly newJob: NewJob;
  readonly keyId: string;
  readonly quotas: KeyQuotas;
}

/** A job of a key with quotas that was inserted, or found; `near`: quotas that are near their limits with it. */
export interface InsertedWithinQuotas {
  readonly job: Job;
  readonly isNew: boolean;
  readonly near?: readonly UsedQuota[];
}

/**
 * `JobStore.insertOrFind` for a key with quotas. An equal live job is no new one, and answers a key that has used up
 * its quotas too.
 *
 * @throws KnownProblem `rate_limited`
 */
export function insertWithinQuotas(
  database: Database,
  { newJob, keyId, quotas }: JobWithinQuotas,
): Promise<InsertedWithinQuotas> {
  return database.transaction(async (client) => {
    const { near, refusal } = await lockQuotas(client, { keyId, quotas, jobs: 1 });
    if (refusal !== null) {
      const equal = await findEqual(client, newJob.idempotencyKey);
      if (equal === null) throw refusal;
      return { job: equal, isNew: false };
    }
    const job = await insertOrFind(client, newJob);
    return job.id === newJob.id ? { job, isNew: true, near } : { job, isNew: false };
  });
}

/**
 * Makes other inserts of jobs of the key wait for the end of the transaction, and says whether the quotas allow so many
 * more jobs.
 */
export async function lockQuotas(
  client: PoolClient,
  { keyId, quotas, jobs }: { readonly keyId: string; readonly quotas: KeyQuotas; readonly jobs: number },
): Promise<{ readonly near: readonly UsedQuota[]; readonly refusal: Error | null }> {
  await client.query(lock, [keyId]);
  // A statement of its own, which sees what was committed before the lock was taken.
  const { rows } = await client.query<UseRow>(use, [keyId]);
  const found = quotaUseOf(rows[0] as UseRow);
  const { exceeded, near } = judgeQuotas(quotas, found, jobs);
  return { near, refusal: exceeded.length === 0 ? null : quotaExceeded(exceeded, found) };
}

function quotaUseOf(row: UseRow): QuotaUse {
  const used: Record<QuotaName, number> = {
    jobs_at_once: row.unfinished,
    jobs_a_day: row.jobs + row.unfinished,
    output_minutes_a_day: row.output_ms / 60_000,
    processor_hours_a_day: row.processor_ms / 3_600_000,
    stored_bytes: row.stored_bytes,
  };
  return { used, dayEndsAt: row.day_ends_at, dayEndsInSec: row.day_ends_in_sec };
}
