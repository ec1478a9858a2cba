import { poolOfQueue, type QueueName, queueNames } from './routing.ts';
import type { WaitingReason } from './waiting.ts';

/** Active jobs of one queue, pool and reason, of those that were counted. */
export interface ActiveGroup {
  readonly queue: QueueName;
  /** Null: the one of its queue. */
  readonly pool: string | null;
  /** Whether a worker or the cluster has them. */
  readonly isClaimed: boolean;
  /** The reason that each has by itself; null: it waits for its turn, or is claimed and runs. */
  readonly code: WaitingReason['code'] | null;
  /** The message of the oldest; null where `code` says all. */
  readonly message: string | null;
  readonly jobs: number;
  /** The two oldest. */
  readonly oldestIds: readonly string[];
  readonly oldestAt: Date;
}

/** Why some jobs of a pool wait. */
export interface PoolReason extends WaitingReason {
  readonly jobs: number;
  /** The oldest of them. */
  readonly jobId: string;
}

/** A runner pool as its jobs show it. */
export interface PoolQueue {
  readonly name: string;
  /** The queue that it serves; null for a pool that only jobs name that ask for it. */
  readonly queue: QueueName | null;
  readonly running: number;
  readonly waiting: number;
  readonly oldestWaitingAt: Date | null;
  /** The reasons of the jobs; the one that most jobs have comes first. */
  readonly reasons: readonly PoolReason[];
}

const messages: Readonly<Partial<Record<WaitingReason['code'], string>>> = {
  storage_outage: 'The object storage does not answer; nothing starts until it does.',
  media_deletion: 'What was made under their hashes is being deleted; they start after that.',
  next_attempt_later: 'An attempt failed; the next one starts after a pause.',
};

/** Every pool that serves a queue, and each other one that has jobs, in the order of queues and then of names. */
export function poolQueuesOf(groups: readonly ActiveGroup[], isOutage: boolean): PoolQueue[] {
  const ofQueues: readonly string[] = queueNames.map((queue) => poolOfQueue[queue]);
  const nameOf = ({ pool, queue }: ActiveGroup) => pool ?? poolOfQueue[queue];
  const others = [...new Set(groups.map(nameOf))].filter((name) => !ofQueues.includes(name)).toSorted();
  return [...ofQueues, ...others].map((name) => {
    const queue = queueNames.find((each) => poolOfQueue[each] === name) ?? null;
    return poolQueue(
      { name, queue },
      groups.filter((group) => nameOf(group) === name),
      isOutage,
    );
  });
}

function poolQueue(
  names: Pick<PoolQueue, 'name' | 'queue'>,
  groups: readonly ActiveGroup[],
  isOutage: boolean,
): PoolQueue {
  const isRunning = ({ isClaimed, code }: ActiveGroup) => isClaimed && code === null;
  const waiting = groups.filter((group) => !isRunning(group));
  const running = countOf(groups.filter(isRunning));
  const reasons = waiting.flatMap((group) => reasonsOf(group, { running, isOutage }));
  const codes = [...new Set(reasons.map(({ code }) => code))];
  const oldest = Math.min(...waiting.map(({ oldestAt }) => oldestAt.getTime()));
  return {
    ...names,
    running,
    waiting: countOf(waiting),
    oldestWaitingAt: Number.isFinite(oldest) ? new Date(oldest) : null,
    reasons: codes
      .map((code) => {
        const same = reasons.filter((reason) => reason.code === code);
        return { ...(same[0] as PoolReason), jobs: countOf(same) };
      })
      .toSorted((a, b) => b.jobs - a.jobs),
  };
}

function countOf(groups: readonly { readonly jobs: number }[]): number {
  return groups.reduce((sum, { jobs }) => sum + jobs, 0);
}

/** As `GET /api/jobs/{id}` says it of each (`waitingReasonOf`): of those that wait for their turn, one is the next. */
function reasonsOf(
  { code, message, jobs, isClaimed, oldestIds: [first = '', second = ''] }: ActiveGroup,
  { running, isOutage }: { readonly running: number; readonly isOutage: boolean },
): PoolReason[] {
  const known = isOutage && !isClaimed && message === null ? 'storage_outage' : code;
  if (known !== null) return [{ code: known, message: message ?? messages[known] ?? known, jobs, jobId: first }];
  const atWork = `${running} ${running === 1 ? 'job' : 'jobs'} of the pool ${running === 1 ? 'runs' : 'run'}.`;
  const next: PoolReason =
    running === 0
      ? {
          code: 'next_in_queue',
          message: 'Nothing of the pool runs: a worker is about to take it.',
          jobs: 1,
          jobId: first,
        }
      : { code: 'pool_full', message: `It is the next; ${atWork}`, jobs: 1, jobId: first };
  if (jobs === 1) return [next];
  return [next, { code: 'behind_others', message: `Others come first; ${atWork}`, jobs: jobs - 1, jobId: second }];
}
