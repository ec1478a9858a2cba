import { jobTypeRow } from '#domain/job-types/index.ts';
import type { Job } from '#domain/jobs/job.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import type { Requeue, WorkQueue } from '#platform/kubernetes/work-queue.ts';
import type { Caches } from '../cache/caches.ts';
import type { OwnWrites } from '../cache/own-writes.ts';
import type { PoolSlots } from '../slots/pool-slots.ts';
import { claimOf } from '../snapshots/routing.ts';
import { hasEnded, isComplete, isFollower, jobIdOf, remainingTtlMs } from '../snapshots/media-job.ts';
import { applyAction, type ApplyPorts } from './apply.ts';
import { type DeletionPorts, onMediaJobDeleted } from './deleted.ts';
import { observe, type ObservePorts } from './observe.ts';
import type { Action, Observed, PlanSettings } from '../plan/observed.ts';
import { plan } from '../plan/plan.ts';

/** The ports that reconciling needs, with those of each of its steps. */
export type ReconcilePorts = ObservePorts &
  ApplyPorts &
  DeletionPorts &
  PlanSettings & {
    readonly caches: Pick<Caches, 'mediaJob' | 'deletedMediaJob' | 'forgetDeleted'>;
    readonly ownWrites: Pick<OwnWrites, 'newest'>;
    readonly slots: Pick<PoolSlots, 'prefer' | 'unprefer'>;
    /** MediaJobs that show the row of another job. */
    readonly followers: { follow(key: string, row: Job): void; forget(key: string): void };
    /** Keys of MediaJobs to reconcile. */
    readonly workQueue: Pick<WorkQueue, 'addAfter'>;
    /** Keys of MediaJobs with streams to reconcile by reading the media bucket. */
    readonly streams: Pick<WorkQueue, 'add'>;
  };

/** Reconciles the MediaJob of a key: observe, plan, apply; requeued if the plan asks for it. */
export async function reconcile(key: string, ports: ReconcilePorts): Promise<Requeue> {
  const { mediaJobTtlMs, caches, now } = ports;
  const deleted = caches.deletedMediaJob(key);
  if (deleted !== undefined) {
    await onMediaJobDeleted(deleted, ports);
    caches.forgetDeleted(key);
  }
  const mediaJob = currentMediaJob(key, ports);
  if (mediaJob === undefined) return;
  // A finalizer of someone else may keep it for long.
  if (mediaJob.metadata?.deletionTimestamp !== undefined && !hasEnded(mediaJob))
    return onMediaJobDeleted(mediaJob, ports);
  // From the cache alone, so that later events of the Job and the pod of a finished job cost nothing.
  const ttlMs = isComplete(mediaJob) ? remainingTtlMs(mediaJob, mediaJobTtlMs, now()) : 0;
  if (ttlMs > 0 && !mayNeedStop(jobIdOf(mediaJob), caches)) return { afterMs: ttlMs };
  return observeAndAct(key, mediaJob, { ports, readsBucket: false });
}

/**
 * Reconciles the MediaJob of a stream where that reads the media bucket. This has a queue of its own, so that a bucket
 * that hangs, or the verification of long videos, which takes minutes, delays no other job.
 */
export async function reconcileStream(key: string, ports: ReconcilePorts): Promise<void> {
  const mediaJob = currentMediaJob(key, ports);
  if (mediaJob === undefined) return;
  const requeue = await observeAndAct(key, mediaJob, { ports, readsBucket: true });
  if (requeue) ports.workQueue.addAfter(key, requeue.afterMs);
}

interface Reconciling {
  readonly ports: ReconcilePorts;
  /** Without it, a MediaJob that needs the media bucket is left to the queue of streams. */
  readonly readsBucket: boolean;
}

async function observeAndAct(key: string, mediaJob: MediaJob, { ports, readsBucket }: Reconciling): Promise<Requeue> {
  const { followers, streams, now } = ports;
  const observed = await observe(mediaJob, ports, readsBucket);
  if (observed === null) return streams.add(key);
  const planned = plan(observed, now(), ports);
  if (planned.followsRow === true && observed.row !== null) followers.follow(key, observed.row);
  else followers.forget(key);
  preferByPriority(observed, ports);
  const concludes = planned.actions.some((action) => action.do === 'concludeAttempt');
  if (concludes && isStream(observed) && !readsBucket) return streams.add(key);
  const isWaiting = await applyAll(planned.actions, observed, ports);
  return isWaiting || planned.requeueAfterMs === undefined ? undefined : { afterMs: planned.requeueAfterMs };
}

/** Applies actions in their order, up to one that needs another observation. Returns whether that can wait. */
async function applyAll(actions: readonly Action[], observed: Observed, ports: ReconcilePorts): Promise<boolean> {
  for (const action of actions) {
    const outcome = await applyAction(action, observed, ports);
    if (outcome !== 'continue') return outcome === 'wait';
  }
  return false;
}

/** A queued job with a priority above 0 goes before the tickets of its pool. */
function preferByPriority({ mediaJob, row }: Observed, { slots }: ReconcilePorts): void {
  if (row === null || isFollower(mediaJob, row)) return;
  const claim = claimOf(mediaJob, row);
  if (row.status === 'queued' && claim.priority > 0 && !claim.isSuspended) slots.prefer(row, claim);
  else slots.unprefer(row.id);
}

function currentMediaJob(key: string, { caches, ownWrites }: ReconcilePorts): MediaJob | undefined {
  return ownWrites.newest(key, caches.mediaJob(key));
}

/** Whether the results are a stream, of thousands of objects. */
function isStream({ row }: Observed): boolean {
  return row !== null && jobTypeRow(row.type).makesStream;
}

/** Whether a Job of a finished job may have to be stopped: one of several, or one with an added container. */
function mayNeedStop(jobId: string, caches: Pick<Caches, 'jobsOf' | 'podOf'>): boolean {
  const jobs = caches.jobsOf(jobId);
  return jobs.length > 1 || jobs.some(({ metadata }) => caches.podOf(metadata.name ?? '')?.hasRunningSidecar === true);
}
