import type { MediaJob } from '#platform/kubernetes/objects.ts';
import type { Requeue } from '#platform/kubernetes/work-queue.ts';
import type { Caches } from '../cache/caches.ts';
import type { LeaderContext } from '../leader-context.ts';
import { claimOf, jobIdOf, remainingTtlMs } from '../snapshots.ts';
import { applyAction } from './apply.ts';
import { onMediaJobDeleted } from './deleted.ts';
import { observe } from './observe.ts';
import type { Observed } from './observed.ts';
import { plan } from './plan.ts';

/** Reconciles the MediaJob of a key: observe, plan, apply; requeued if the plan asks for it. */
export async function reconcile(key: string, context: LeaderContext): Promise<Requeue> {
  const { dependencies, caches, followers, now } = context;
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
  const observed = await observe(mediaJob, context);
  const planned = plan(observed, nowMs, dependencies);
  if (planned.followsRow === true && observed.row !== null) followers.follow(key, observed.row);
  else followers.forget(key);
  preferByPriority(observed, context);
  for (const action of planned.actions) {
    if (action.do === 'concludeAttempt' && isStream(observed)) {
      context.completions.add(key);
      return;
    }
    if (!(await applyAction(action, observed, context))) break;
  }
  return planned.requeueAfterMs === undefined ? undefined : { afterMs: planned.requeueAfterMs };
}

/**
 * Concludes the attempt of a stream. This has a queue of its own: the verification of a long film takes minutes, and many
 * films that end together must not delay the cancellation or the end of other jobs.
 */
export async function concludeStream(key: string, context: LeaderContext): Promise<void> {
  const mediaJob = currentMediaJob(key, context);
  if (mediaJob === undefined) return;
  const observed = await observe(mediaJob, context);
  const { actions } = plan(observed, context.now(), context.dependencies);
  const conclusion = actions.find((action) => action.do === 'concludeAttempt');
  if (conclusion === undefined) return;
  await applyAction(conclusion, observed, context);
  context.queue.add(key);
}

/** A queued job with a priority above 0 goes before the tickets of its pool. */
function preferByPriority({ mediaJob, row }: Observed, { slots }: LeaderContext): void {
  if (row === null || mediaJob.metadata?.uid !== row.id) return;
  const claim = claimOf(mediaJob, row.queue);
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
