import type { MediaJob } from '#platform/kubernetes/objects.ts';
import { attemptJobName, labels } from '../manifests/names.ts';
import type { RunningJobs } from '../slots/running-jobs.ts';
import { type Caches, poolOf } from '../cache/caches.ts';
import type { MediaJobDependencies } from '../dependencies.ts';
import type { Observed } from './plan.ts';
import { hasBegun, isPodOver, jobIdOf, type JobSnapshot } from '../snapshots.ts';

interface ObserveInput {
  readonly d: MediaJobDependencies;
  readonly caches: Caches;
  readonly working: RunningJobs;
  readonly mayTellProgress: boolean;
  readonly sinceWrittenMs: number;
  readonly now: number;
}

/** Everything that is seen of a MediaJob: reads only, one of Postgres and the rest of what is kept here. */
export async function observe(
  mediaJob: MediaJob,
  { d, caches, working, mayTellProgress, sinceWrittenMs, now }: ObserveInput,
): Promise<Observed> {
  const row = await d.jobs.find(jobIdOf(mediaJob));
  const fallback = mediaJob.metadata?.labels?.[labels.pool] ?? 'default';
  const pool = row === null ? (mediaJob.spec.pool ?? fallback) : poolOf(mediaJob, row.queue);
  const spec = caches.pools.get(d.runnerNamespace, pool)?.spec ?? null;
  const name = row === null ? '' : attemptJobName(row);
  const job = caches.job(name);
  const pod = job === null ? null : caches.podOf(name);
  return {
    mediaJob,
    row,
    job,
    isJobUnderway: working.isUnderway(name),
    isJobUnmade: working.isUnmade(name),
    atWorkMs: pod !== null && hasBegun(pod) ? working.seenAtWorkMs(name, now) : 0,
    otherJobs:
      row === null ? [] : caches.jobsOf(row.id).filter((each) => each.metadata.name !== name && mayRun(each, caches)),
    pod,
    pool: { name: pool, spec },
    hasRoom: spec !== null && (working.has(name) || working.count(pool) < spec.concurrency),
    denied: await caches.denials.of(job, pod, now),
    sinceWrittenMs,
    mayTellProgress,
  };
}

function mayRun({ metadata }: JobSnapshot, caches: Caches): boolean {
  const pod = caches.podOf(metadata.name ?? '');
  return pod === null || !isPodOver(pod);
}
