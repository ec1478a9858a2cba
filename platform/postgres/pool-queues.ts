import { type ActiveGroup, type PoolQueue, poolQueuesOf } from '#domain/jobs/pool-queue.ts';
import { type QueueName, queueNames } from '#domain/jobs/routing.ts';
import { activeStatuses } from '#domain/jobs/status.ts';
import type { WaitingReason } from '#domain/jobs/waiting.ts';
import type { Database } from './database.ts';
import { readList } from './list-database.ts';

interface GroupRow {
  readonly queue: QueueName;
  readonly pool: string | null;
  readonly is_claimed: boolean;
  readonly code: WaitingReason['code'] | null;
  readonly message: string | null;
  readonly jobs: number;
  readonly ids: string[];
  readonly oldest_at: Date;
  readonly is_outage: boolean;
}

/** The waiting jobs of each queue that are counted, the oldest first. */
export const waitingCountedMax = 2_000;

// The reasons and their order are the ones of job-waiting.ts.
const groups = `
  with active as (
    select id, queue, pool, hash, waiting_reason, not_before, created_at, true as is_claimed from jobs
    where lease_owner is not null and status = any($1)
    union all
    select oldest.* from unnest($2::text[]) as wanted (queue_name) cross join lateral (
      select id, queue, pool, hash, waiting_reason, not_before, created_at, false from jobs
      where status in ('queued', 'processing') and lease_owner is null and queue = queue_name
      order by created_at limit ${waitingCountedMax}
    ) as oldest
  ), explained as (
    select id, queue, pool, is_claimed, created_at, waiting_reason ->> 'message' as message,
      case when waiting_reason is not null then waiting_reason ->> 'code' when is_claimed then null
        when hash in (select hash from media_deletions where lifted_at is null and finished_at is null)
          then 'media_deletion'
        when not_before > now() then 'next_attempt_later' end as code
    from active
  )
  select queue, pool, is_claimed, code, count(*)::int as jobs, min(created_at) as oldest_at,
    (array_agg(message order by created_at))[1] as message, (array_agg(id order by created_at))[1:2] as ids,
    exists (select from storage_outage where seen_at > now() - interval '15 seconds') as is_outage
  from explained group by queue, pool, is_claimed, code`;

/**
 * The pools as their active jobs show them: of each queue all that are claimed, and the oldest that wait.
 *
 * @param database of `openListDatabase`
 * @throws KnownProblem `busy` when too many lists are read
 */
export async function poolQueues(database: Database): Promise<PoolQueue[]> {
  const rows = await readList<GroupRow>(database, groups, [activeStatuses, queueNames]);
  return poolQueuesOf(rows.map(groupOfRow), rows[0]?.is_outage ?? false);
}

function groupOfRow(row: GroupRow): ActiveGroup {
  const { queue, pool, is_claimed: isClaimed, code, message, jobs, ids, oldest_at: oldestAt } = row;
  return { queue, pool, isClaimed, code, message, jobs, oldestIds: ids, oldestAt };
}
