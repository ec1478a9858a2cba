import { type MediaJob } from '#platform/kubernetes/objects.ts';
import { keyOf } from '#platform/kubernetes/store.ts';
import type { Caches } from '../cache/caches.ts';
import type { LeaderContext } from '../leader-context.ts';
import { templateHash } from '../manifests/job-manifest.ts';
import { attemptJobName, labels, templateAnnotation } from '../manifests/names.ts';
import { hasStarted, isPodOver, jobIdOf, type JobSnapshot, poolOf } from '../snapshots.ts';
import type { Observed } from './observed.ts';

/** The observed state of a MediaJob: one read of Postgres, and the caches and registers of this process. */
export async function observe(mediaJob: MediaJob, context: LeaderContext): Promise<Observed> {
  const { dependencies, caches, slots, ownWrites, progressRate, now } = context;
  const { running } = slots;
  const row = await dependencies.jobs.find(jobIdOf(mediaJob));
  const nowMs = now();
  const fallback = mediaJob.metadata?.labels?.[labels.pool] ?? 'default';
  const pool = row === null ? (mediaJob.spec.pool ?? fallback) : poolOf(mediaJob, row.queue);
  const name = row === null ? '' : attemptJobName(row);
  const job = caches.job(name);
  const spec = caches.pools.get(dependencies.runnerNamespace, pool)?.spec ?? null;
  const pod = job === null ? null : caches.podOf(name);
  return {
    mediaJob,
    row,
    job,
    isJobBeingCreated: running.isBeingCreated(name),
    isJobNeverCreated: running.isNeverCreated(name),
    runningMs: pod !== null && hasStarted(pod) ? running.runningMs(name, nowMs) : 0,
    otherJobs:
      row === null ? [] : caches.jobsOf(row.id).filter((each) => each.metadata.name !== name && mayRun(each, caches)),
    pod,
    pool: { name: pool, spec },
    hasCapacity: slots.hasCapacity(pool, name),
    isOutdated: job !== null && isOutdated(job, templateHash(spec, dependencies.template)),
    podCreationFailure: await caches.podCreationFailures.of(job, pod, nowMs),
    isStorageAway: dependencies.storageWatch.isAway,
    sinceWrittenMs: ownWrites.sinceMs(keyOf(mediaJob), nowMs),
    mayReportProgress: progressRate.hasToken(nowMs),
  };
}

/** Whether a Job was created from other settings of its pool or of the runner. */
function isOutdated({ metadata }: JobSnapshot, current: string): boolean {
  const hash = metadata.annotations?.[templateAnnotation];
  return hash !== undefined && hash !== current;
}

function mayRun({ metadata }: JobSnapshot, caches: Caches): boolean {
  const pod = caches.podOf(metadata.name ?? '');
  return pod === null || !isPodOver(pod) || pod.hasRunningSidecar;
}
