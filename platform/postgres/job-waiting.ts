import type { ShownJob } from '#domain/jobs/job.ts';
import { activeStatuses, isFinal } from '#domain/jobs/status.ts';
import type { WaitingReason } from '#domain/jobs/waiting.ts';
import type { Database } from './database.ts';

interface WaitingRow {
  readonly id: string;
  readonly is_unclaimed: boolean;
  readonly not_before: Date | null;
  readonly is_outage: boolean;
  readonly is_deleting: boolean;
  /** Each at most `countMax + 1`; null where nothing was counted. */
  readonly ahead: number | null;
  readonly running: number | null;
}

const countMax = 1_000;

// Workers refresh this row every few seconds during an outage; an older row means that it has ended.
const find = `
  select id, lease_owner is null as is_unclaimed, case when not_before > now() then not_before end as not_before,
    exists (select from storage_outage where seen_at > now() - interval '15 seconds') as is_outage,
    exists (
      select from media_deletions where hash = job.hash and lifted_at is null and finished_at is null
    ) as is_deleting,
    case when $3 then (select count(*)::int from (
      select from jobs as other
      where other.status in ('queued', 'processing') and other.lease_owner is null and other.queue = job.queue
        and other.pool is not distinct from job.pool
        and other.created_at < job.created_at and other.priority >= job.priority
      limit ${countMax + 1}
    ) as others) end as ahead,
    case when $3 then (select count(*)::int from (
      select from jobs as other where lease_owner is not null and other.queue = job.queue
        and other.pool is not distinct from job.pool limit ${countMax + 1}
    ) as claimed) end as running
  from jobs as job where id = any($1) and status = any($2)`;

/** Why a job waits, as `waitingReasonsOf` says it; null when it runs or has ended. */
export async function waitingReasonOf(database: Database, job: ShownJob): Promise<WaitingReason | null> {
  return (await waitingReasonsOf(database, [job])).get(job.id) ?? null;
}

/**
 * Why each of these jobs waits, by its id: what its controller recorded, else what the rows of its queue say; one that
 * runs or has ended is not among them. Jobs ahead are counted by age; a priority or a retry may change that order.
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
  if (ahead === null || running === null) return null;
  if (ahead === 0 && running === 0)
    return { code: 'next_in_queue', message: 'It is the next of its queue, of which nothing runs.' };
  const atWork = running === 1 ? '1 job of its queue runs' : `${boundedCount(running)} jobs of its queue run`;
  if (ahead === 0) return { code: 'pool_full', message: `It is the next of its queue; ${atWork}.` };
  const number = boundedCount(ahead).replace(/^m/, 'M');
  return {
    code: 'behind_others',
    message: `${number} waiting ${ahead === 1 ? 'job is' : 'jobs are'} ahead; ${atWork}.`,
  };
}

function boundedCount(count: number): string {
  return count > countMax ? `more than ${countMax}` : String(count);
}
