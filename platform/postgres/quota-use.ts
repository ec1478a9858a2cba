import type { PoolClient } from 'pg';
import type { QuotaName, QuotaUse } from '#domain/keys/quotas.ts';

// What an API key has used of its quotas. What has ended is in usage_daily and what has not is in jobs; a job goes from
// one to the other in one commit, so a statement counts it once. Jobs that wait for a quota use nothing.

const lock = `select pg_advisory_xact_lock(hashtextextended('quotas ' || $1, 0))`;
const use = `
  with clock as (select clock_timestamp() at time zone 'UTC' as now),
  ended as (
    select coalesce(sum(jobs) filter (where day = now::date), 0)::float8 as jobs,
      coalesce(sum(output_ms) filter (where day = now::date), 0)::float8 as output_ms,
      coalesce(sum(fetch_ms + process_ms + publish_ms) filter (where day = now::date), 0)::float8 as processor_ms,
      coalesce(sum(stored_bytes), 0)::float8 as stored_bytes
    from usage_daily, clock where key_id = $1
  ),
  unfinished as (
    select count(*) filter (where not_before is distinct from 'infinity')::float8 as unfinished,
      count(*) filter (where not_before = 'infinity')::float8 as waiting
    from jobs where key_id = $1 and finished_at is null
  )
  select ended.*, unfinished.*,
    (date_trunc('day', now) + interval '1 day') at time zone 'UTC' as day_ends_at,
    ceil(extract(epoch from date_trunc('day', now) + interval '1 day' - now))::float8 as day_ends_in_sec
  from ended, unfinished, clock`;

interface UseRow {
  readonly jobs: number;
  readonly output_ms: number;
  readonly processor_ms: number;
  readonly stored_bytes: number;
  readonly unfinished: number;
  readonly waiting: number;
  readonly day_ends_at: Date;
  readonly day_ends_in_sec: number;
}

/** Makes other inserts and releases of jobs of the key wait for the end of the transaction. */
export async function lockKey(client: PoolClient, keyId: string): Promise<void> {
  await client.query(lock, [keyId]);
}

/** What a key has used, asked for after its lock: the statement sees what was committed before the lock was taken. */
export async function quotaUse(client: PoolClient, keyId: string): Promise<QuotaUse> {
  const { rows } = await client.query<UseRow>(use, [keyId]);
  const row = rows[0] as UseRow;
  const used: Record<QuotaName, number> = {
    jobs_at_once: row.unfinished,
    jobs_a_day: row.jobs + row.unfinished,
    output_minutes_a_day: row.output_ms / 60_000,
    processor_hours_a_day: row.processor_ms / 3_600_000,
    stored_bytes: row.stored_bytes,
  };
  return { used, waiting: row.waiting, dayEndsAt: row.day_ends_at, dayEndsInSec: row.day_ends_in_sec };
}
