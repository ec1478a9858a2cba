import type { MediaJob } from '#platform/kubernetes/objects.ts';
import type { Requeue } from '#platform/kubernetes/work-queue.ts';
import type { Caches } from '../cache/caches.ts';
import type { LeaderContext } from '../leader-context.ts';
import { claimOf, isOfApiJob, jobIdOf, remainingTtlMs } from '../snapshots.ts';
import { applyAction } from './apply.ts';
import { onMediaJobDeleted } from './deleted.ts';
import { observe } from './observe.ts';
import type { Action, Observed } from './observed.ts';
import { plan } from './plan.ts';

/** Reconciles the MediaJob of a key: observe, plan, apply; requeued if the plan asks for it. */
export async function reconcile(key: string, context: LeaderContext): Promise<Requeue> {
  const { dependencies, caches, now } = context;
  const deleted = caches.deletedMediaJob(key);
  if (deleted !== undefined) {
    await onMediaJobDeleted(deleted, context);
    caches.forgetDeleted(key);
  }
  const mediaJob = currentMediaJob(key, context);
  if (mediaJob === undefined) return;
  const nowMs = now();
  const ttlMs = remainingTtlMs(mediaJob, dependencies.mediaJobTtlMs, nowMs);
  if (ttlMs > 0 && !mayNeedStop(jobIdOf(mediaJob), caches)) return { afterMs: ttlMs };
  return observeAndAct(key, mediaJob, { context, readsBucket: false });
}

/**
 * Reconciles the MediaJob of a stream where that reads the media bucket. This has a queue of its own: the verification of
 * a long film takes minutes, a bucket may hang, and many films that end together must not delay the cancellation or the
 * end of other jobs.
 */
export async function reconcileStream(key: string, context: LeaderContext): Promise<void> {
  const mediaJob = currentMediaJob(key, context);
  if (mediaJob === undefined) return;
  const requeue = await observeAndAct(key, mediaJob, { context, readsBucket: true });
  if (requeue) context.queue.addAfter(key, requeue.afterMs);
}

interface Reconciling {
  readonly context: LeaderContext;
  /** Without it, a MediaJob that needs the media bucket is left to the queue of streams. */
  readonly readsBucket: boolean;
}

async function observeAndAct(key: string, mediaJob: MediaJob, { context, readsBucket }: Reconciling): Promise<Requeue> {
  const { dependencies, followers, streams, now } = context;
  const observed = await observe(mediaJob, context, readsBucket);
  if (observed === null) return streams.add(key);
  const planned = plan(observed, now(), dependencies);
  if (planned.followsRow === true && observed.row !== null) followers.follow(key, observed.row);
  else followers.forget(key);
  preferByPriority(observed, context);
  const concludes = planned.actions.some((action) => action.do === 'concludeAttempt');
  if (concludes && isStream(observed) && !readsBucket) return streams.add(key);
  const isWaiting = await applyAll(planned.actions, observed, context);
  return isWaiting || planned.requeueAfterMs === undefined ? undefined : { afterMs: planned.requeueAfterMs };
}

/** Applies actions in their order, up to one after which the state has to be observed anew; whether that can wait. */
async function applyAll(actions: readonly Action[], observed: Observed, context: LeaderContext): Promise<boolean> {
  for (const action of actions) {
    const outcome = await applyAction(action, observed, context);
    if (outcome !== true) return outcome === 'waits';
  }
  return false;
}

/** A queued job with a priority above 0 goes before the tickets of its pool. */
function preferByPriority({ mediaJob, row }: Observed, { slots }: LeaderContext): void {
  if (row === null || (!isOfApiJob(mediaJob) && mediaJob.metadata?.uid !== row.id)) return;
  const claim = claimOf(mediaJob, row);
  if (row.status === 'queued' && claim.priority > 0 && !claim.isSuspended) slots.prefer(row, claim);
  else slots.unprefer(row.id);
}

function currentMediaJob(key: string, { caches, ownWrites }: LeaderContext): MediaJob | undefined {
  return ownWrites.newest(key, caches.mediaJob(key));
}

/** Whether the results are a stream, of thousands of objects. */
function isStream({ row }: Observed): boolean {
  return row?.type === 'video:transcode' || row?.type === 'video:full';
}

/** Whether a Job of a finished job may have to be stopped: one of several, or one with an added container. */
function mayNeedStop(jobId: string, caches: Caches): boolean {
  const jobs = caches.jobsOf(jobId);
  return jobs.length > 1 || jobs.some(({ metadata }) => caches.podOf(metadata.name ?? '')?.hasRunningSidecar === true);
}
