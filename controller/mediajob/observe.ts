import type { KubeClient } from '#platform/kubernetes/client.ts';
import type { KubeObject, MediaJob, Resource } from '#platform/kubernetes/objects.ts';
import { attemptJobName, labels } from '../executors/kubernetes/names.ts';
import type { WorkingJobs } from '../executors/kubernetes/working-jobs.ts';
import { type Caches, poolOf } from './caches.ts';
import type { MediaJobDependencies } from './dependencies.ts';
import type { Observed } from './plan.ts';
import { hasBegun, isPodOver, jobIdOf, type JobSeen, type PodSeen } from './seen.ts';

interface ObserveInput {
  readonly d: MediaJobDependencies;
  readonly caches: Caches;
  readonly working: WorkingJobs;
  readonly sinceWrittenMs: number;
  readonly now: number;
}

/** The old kind of events: the API server selects these by the object they are about. */
interface CoreEvent extends KubeObject {
  message?: string;
}
const coreEvents: Resource<CoreEvent> = { apiVersion: 'v1', kind: 'Event', plural: 'events', isNamespaced: true };

/** A Job whose pod is not there after this is asked about; the Job controller takes a second or two. */
const podLateMs = 3_000;

/** Everything that is seen of a MediaJob: reads only, one of Postgres and the rest of the caches. */
export async function observe(
  mediaJob: MediaJob,
  { d, caches, working, sinceWrittenMs, now }: ObserveInput,
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
    denied: await denialOf(job, pod, { client: d.client, now }),
    sinceWrittenMs,
  };
}

function mayRun({ metadata }: JobSeen, caches: Caches): boolean {
  const pod = caches.podOf(metadata.name ?? '');
  return pod === null || !isPodOver(pod);
}

/** Why a Job has no pod: its controller says so in an event alone. */
async function denialOf(
  job: JobSeen | null,
  pod: PodSeen | null,
  { client, now }: { client: KubeClient; now: number },
): Promise<string | null> {
  if (job === null || pod !== null || job.hasPod || job.isSuspended) return null;
  const { creationTimestamp = '', namespace, name } = job.metadata;
  if (now - Date.parse(creationTimestamp) < podLateMs) return null;
  const fieldSelector = `involvedObject.kind=Job,involvedObject.name=${name},reason=FailedCreate`;
  const { items } = await client.list(coreEvents, { namespace, fieldSelector, limit: 5 });
  return items.at(-1)?.message ?? null;
}
