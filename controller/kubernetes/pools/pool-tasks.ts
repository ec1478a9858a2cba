import { poolOfQueue, type QueueName, queueNames } from '#domain/jobs/routing.ts';
import type { WaitingJobs } from '#platform/postgres/pool-store.ts';
import type { QueueDepth } from '#platform/queue/ticket-queue.ts';

/** The jobs that wait for one pool. */
export interface PoolTasks {
  readonly pending: number;
  /** For the time of a later attempt. */
  readonly retry: number;
  /** The age of the oldest one; 0 without one. */
  readonly oldestSeconds: number;
}

interface Waiting {
  readonly depths: Readonly<Record<QueueName, Pick<QueueDepth, 'pending' | 'retry'>>>;
  readonly jobs: readonly WaitingJobs[];
}

/**
 * The jobs that wait for a pool. Those that name a pool are counted by their rows. The pool of a queue has the tickets
 * of the queue instead; jobs that name another pool have one until it has a slot for them, or the ticket is taken.
 */
export function poolTasksOf(name: string, { depths, jobs }: Waiting): PoolTasks {
  const queue = queueNames.find((each) => poolOfQueue[each] === name);
  const own = jobs.filter((each) => (each.pool ?? poolOfQueue[each.queue]) === name);
  const { pending, retry } = queue === undefined ? sumOf(own) : depths[queue];
  return {
    pending,
    retry,
    oldestSeconds: Math.max(0, ...own.map(({ oldestSeconds }) => oldestSeconds ?? 0)),
  };
}

function sumOf(jobs: readonly WaitingJobs[]): Pick<PoolTasks, 'pending' | 'retry'> {
  const sum = (state: 'pending' | 'retry') => jobs.reduce((total, each) => total + each[state], 0);
  return { pending: sum('pending'), retry: sum('retry') };
}
