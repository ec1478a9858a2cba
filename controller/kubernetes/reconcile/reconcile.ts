import type { Requeue } from '#platform/kubernetes/work-queue.ts';
import type { Caches } from '../cache/caches.ts';
import type { LeaderContext } from '../leader-context.ts';
import { jobIdOf, remainingTtlMs } from '../snapshots.ts';
import { applyAction } from './apply.ts';
import { onMediaJobDeleted } from './deleted.ts';
import { observe } from './observe.ts';
import { plan } from './plan.ts';

/** Reconciles the MediaJob of a key: observe, plan, apply; requeued if the plan asks for it. */
export async function reconcile(key: string, context: LeaderContext): Promise<Requeue> {
  const { dependencies, caches, ownWrites, now } = context;
  const deleted = caches.deletedMediaJob(key);
  if (deleted !== undefined) {
    await onMediaJobDeleted(deleted, context);
    caches.forgetDeleted(key);
  }
  const mediaJob = ownWrites.newest(key, caches.mediaJob(key));
  if (mediaJob === undefined) return;
  const nowMs = now();
  const ttlMs = remainingTtlMs(mediaJob, dependencies.mediaJobTtlMs, nowMs);
  if (ttlMs > 0 && !mayNeedStop(jobIdOf(mediaJob), caches)) return { afterMs: ttlMs };
  const observed = await observe(mediaJob, context);
  const planned = plan(observed, nowMs, dependencies);
  for (const action of planned.actions) {
    if (!(await applyAction(action, observed, context))) break;
  }
  return planned.requeueAfterMs === undefined ? undefined : { afterMs: planned.requeueAfterMs };
}

/** Whether a Job of a finished job may have to be stopped: one of several, or one with an added container. */
function mayNeedStop(jobId: string, caches: Caches): boolean {
  const jobs = caches.jobsOf(jobId);
  return jobs.length > 1 || jobs.some(({ metadata }) => caches.podOf(metadata.name ?? '')?.hasRunningSidecar === true);
}
