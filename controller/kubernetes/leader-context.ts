import type { KubeClient } from '#platform/kubernetes/client.ts';
import type { EventRecorder } from '#platform/kubernetes/events.ts';
import type { WorkQueue } from '#platform/kubernetes/work-queue.ts';
import type { TokenBucket } from '#platform/lifecycle/token-bucket.ts';
import type { Caches } from './cache/caches.ts';
import type { OwnWrites } from './cache/own-writes.ts';
import type { MediaJobDependencies } from './dependencies.ts';
import type { Followers } from './followers.ts';
import type { PoolProblems } from './pools/pool-problems.ts';
import type { PoolSlots } from './slots/pool-slots.ts';

/** The state of one term of a leader, shared by its parts. */
export interface LeaderContext {
  readonly dependencies: MediaJobDependencies;
  /** Refuses to write once the lease is lost. */
  readonly client: KubeClient;
  readonly caches: Caches;
  readonly ownWrites: OwnWrites;
  readonly slots: PoolSlots;
  readonly followers: Followers;
  readonly problems: PoolProblems;
  /** Keys of MediaJobs to reconcile. */
  readonly queue: Pick<WorkQueue, 'add' | 'addAfter'>;
  /** Keys of MediaJobs with streams to reconcile by reading the media bucket. */
  readonly streams: Pick<WorkQueue, 'add'>;
  /** Keys of MediaJobs from kubectl whose profiles may not exist: they are reconciled when profiles change. */
  readonly profileWaiters: Set<string>;
  readonly recorder: EventRecorder;
  /** The rate of status writes that only report progress, of all MediaJobs together. */
  readonly progressRate: TokenBucket;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Reconciles the jobs that wait for capacity in a pool, highest priority first. */
export function wakeWaiting(pool: string, { slots, caches, queue }: LeaderContext): void {
  for (const jobId of slots.waitingIn(pool)) {
    const key = caches.keyOfJob(jobId);
    if (key !== undefined) queue.add(key);
  }
}
