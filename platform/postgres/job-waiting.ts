import type { ShownJob } from '#domain/jobs/job.ts';
import { activeStatuses, isFinal } from '#domain/jobs/status.ts';
import type { WaitingReason } from '#domain/jobs/waiting.ts';
import { shareOf, turnText } from '#domain/jobs/turns.ts';
import type { Database } from './database.ts';
import { keyOf, poolOf } from './turn-rows.ts';

interface WaitingRow {
  readonly id: string;
  readonly is_unclaimed: boolean;
  readonly not_before: Date | null;
  readonly is_outage: boolean;
  readonly is_deleting: boolean;
  /** How many jobs of its key are ahead of it, at most `2 * countMax + 2`; null where nothing was counted. */
  readonly ahead: number | null;
  /** At most `countMax + 1`. */
  readonly running: number;
  readonly runningOfKey: number;
  /** The keys that wait in its pool, and their weights. */
  readonly keys: number;
  readonly weight: number;
  readonly weightOfAll: number;
}

const countMax = 1_000;

const waits = `other.status in ('queued', 'processing') and other.lease_owner is null and ${poolOf('other')} = ${poolOf('job')}`;
/** Waiting jobs of the key of `job`: scans of the index jobs_turns. */
const countOf = (condition: string) => `(select count(*)::int from (
      select from jobs as other where ${waits} and ${keyOf('other')} = ${keyOf('job')} and ${condition}
      limit ${countMax + 1}
    ) as others)`;
const nextKey = (condition: string) => `
      select ${keyOf('other')} as key from jobs as other where ${waits} ${condition}
      order by ${keyOf('other')}, other.priority desc, other.created_at limit 1`;

// Workers refresh this row every few seconds during an outage; an older row means that it has ended.
const find = `
  select job.id, job.lease_owner is null as is_unclaimed,
    case when job.not_before > now() and job.not_before < 'infinity' then job.not_before end as not_before,
    exists (select from storage_outage where seen_at > now() - interval '15 seconds') as is_outage,
    exists (
      select from media_deletions where hash = job.hash and lifted_at is null and finished_at is null
    ) as is_deleting,
    case when $3 then ${countOf(`other.priority > job.priority`)}
      + ${countOf(`other.priority = job.priority and other.created_at < job.created_at`)} end as ahead,
    slots.*, keys.*
  from jobs as job
  left join lateral (
    select count(*)::int as running, (count(*) filter (where held.key = ${keyOf('job')}))::int as "runningOfKey"
    from (
      select ${keyOf('other')} as key from jobs as other
      where $3 and lease_owner is not null and other.queue = job.queue and other.pool is not distinct from job.pool
      limit ${countMax + 1}
    ) as held
  ) as slots on true
  left join lateral (
    with recursive waiting as (
      (${nextKey('')})
      union all
      select following.* from waiting
      cross join lateral (${nextKey(`and ${keyOf('other')} > waiting.key`)}) as following
    )
    select count(*)::int as keys, coalesce(sum(coalesce(weight, 1)), 1)::int as "weightOfAll",
      coalesce(max(weight) filter (where key = ${keyOf('job')}), 1) as weight
    from (select key from waiting where $3 limit ${countMax}) as found left join api_keys on api_keys.id = key
  ) as keys on true
  where job.id = any($1) and job.status = any($2)`;

/** Why a job waits, as `waitingReasonsOf` says it; null when it runs or has ended. */
export async function waitingReasonOf(database: Database, job: ShownJob): Promise<WaitingReason | null> {
  return (await waitingReasonsOf(database, [job])).get(job.id) ?? null;
}

/**
 * Why each of these jobs waits, by its id: what its controller recorded, else what the rows of its queue say; one that
 * runs or has ended is not among them. Jobs ahead are those of its key.
 *
 * @param isCounted false for lists: counting for each job of a page would take too long, so a job that only waits for
 * its turn is not among them
 */
export async function waitingReasonsOf(
  database: Database,
  jobs: readonly Omit<ShownJob, 'results'>[],
  isCounted = true,
): Promise<ReadonlyMap<string, WaitingReason>> {
  const recorded = jobs.flatMap(({ id, waitingReason: reason }) => (reason === null ? [] : [[id, reason] as const]));
  const ids = jobs.filter(mayWaitUnrecorded).map(({ id }) => id);
  if (ids.length === 0) return new Map(recorded);
  const { rows } = await database.pool.query<WaitingRow>(find, [ids, activeStatuses, isCounted]);
  const found = rows.flatMap((row) => {
    const reason = row.is_unclaimed ? reasonOf(row) : null;
    return reason === null ? [] : [[row.id, reason] as const];
  });
  return new Map([...recorded, ...found]);
}

function mayWaitUnrecorded({ waitingReason, status, phase }: Omit<ShownJob, 'results'>): boolean {
  return waitingReason === null && !isFinal(status) && (phase === null || phase === 'admitted');
}

function reasonOf(row: WaitingRow): WaitingReason | null {
  const { not_before: notBefore, is_outage: isOutage, is_deleting: isDeleting, ahead, running } = row;
  if (isOutage)
    return { code: 'storage_outage', message: 'The object storage does not answer; nothing starts until it does.' };
  if (isDeleting)
    return { code: 'media_deletion', message: 'What was made under its hash is being deleted; it starts after that.' };
  if (notBefore !== null)
    return { code: 'next_attempt_later', message: `The next attempt starts at ${notBefore.toISOString()} or later.` };
  if (ahead === null) return null;
  if (ahead === 0 && running === 0)
    return { code: 'next_in_queue', message: 'It is the next of its queue, of which nothing runs.' };
  const [ofWhom, atWork] = row.keys > 1 ? ['key', turnsOf(row)] : ['queue', jobsAtWork(running)];
  if (ahead === 0) return { code: 'pool_full', message: `It is the next of its ${ofWhom}; ${atWork}.` };
  const number = boundedCount(ahead).replace(/^m/, 'M');
  const jobs = `${number} waiting ${ahead === 1 ? 'job' : 'jobs'}${row.keys > 1 ? ' of its key' : ''}`;
  return { code: 'behind_others', message: `${jobs} ${ahead === 1 ? 'is' : 'are'} ahead; ${atWork}.` };
}

function jobsAtWork(running: number): string {
  return running === 1 ? '1 job of its queue runs' : `${boundedCount(running)} jobs of its queue run`;
}

function turnsOf({ runningOfKey: running, keys, weight, weightOfAll, running: slots }: WaitingRow): string {
  const share = shareOf({ slots, weight, weightOfAll });
  return turnText({ running: running === 1 ? 1 : boundedCount(running), share, keys: boundedCount(keys) });
}

function boundedCount(count: number): string {
  return count > countMax ? `more than ${countMax}` : String(count);
}
