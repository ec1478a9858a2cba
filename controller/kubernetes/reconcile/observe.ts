import type { Job } from '#domain/jobs/job.ts';
import { unitKindRow } from '#domain/work/unit.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import { keyOf } from '#platform/kubernetes/store.ts';
import type { TokenBucket } from '#platform/concurrency/token-bucket.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { Caches } from '../cache/caches.ts';
import type { OwnWrites } from '../cache/own-writes.ts';
import type { JobManifests } from '../manifests/job-manifest.ts';
import { isStorageFailure } from '../plan/attempt-end.ts';
import type { Observed, ObservedUnits, ObservedPool, ObservedWork } from '../plan/observed.ts';
import type { PoolSlots } from '../slots/pool-slots.ts';
import type { JobSnapshot } from '../snapshots/job.ts';
import { jobIdOf } from '../snapshots/media-job.ts';
import { labels, unitJobName, unitJobsOf } from '../snapshots/names.ts';
import { hasStarted, isPodOver, type PodSnapshot } from '../snapshots/pod.ts';
import { isImageType, poolOf } from '../snapshots/routing.ts';
import { type UnitPorts, observeUnits, podOfUnits } from './observe-units.ts';

/** The ports that observing a MediaJob needs. */
export interface ObservePorts extends UnitPorts {
  readonly jobs: Pick<JobStore, 'find'>;
  readonly caches: UnitPorts['caches'] & Pick<Caches, 'jobsOf' | 'nodes' | 'podCreationFailures' | 'pools'>;
  readonly slots: UnitPorts['slots'] & Pick<PoolSlots, 'hasCapacity'>;
  readonly ownWrites: Pick<OwnWrites, 'sinceMs'>;
  readonly progressRate: Pick<TokenBucket, 'hasToken'>;
  readonly manifests: Pick<JobManifests, 'isOutdated'>;
  readonly runnerNamespace: string;
}

/**
 * The observed state of a MediaJob: one read of Postgres, the caches and registers of this process, and for some
 * chunked encodes the media bucket. Null where `readsBucket` forbids that.
 */
export async function observe(mediaJob: MediaJob, ports: ObservePorts, readsBucket: boolean): Promise<Observed | null> {
  const { caches, ownWrites, progressRate, storageWatch, now } = ports;
  const row = await ports.jobs.find(jobIdOf(mediaJob));
  const nowMs = now();
  const pool = observePool(mediaJob, row, ports);
  // As they are now: one that appears or ends while the buckets are asked would contradict the units.
  const jobs = row === null ? [] : caches.jobsOf(row.id);
  const units = row === null ? null : await observeUnits({ row, mediaJob, pool }, ports, readsBucket);
  if (units === 'unread') return null;
  if (row !== null && units !== null) await findOutage(row, units, ports);
  const current = await observeWork(row, { units, jobs, pool, nowMs }, ports);
  const name = current.job?.metadata.name;
  return {
    mediaJob,
    row,
    units,
    current,
    otherJobs: jobs.filter((each) => each.metadata.name !== name && mayRun(each, caches)),
    pool,
    storageProblem: storageWatch.problem,
    writes: {
      sinceMs: ownWrites.sinceMs(keyOf(mediaJob), nowMs),
      mayReportProgress: progressRate.hasToken(nowMs),
    },
  };
}

/**
 * Asks whether the storage is away as soon as it failed one of several units: at the end of their Job the outage may
 * have ended, and the attempt would count as a failure.
 */
async function findOutage(row: Job, units: ObservedUnits, { storageWatch, now }: ObservePorts): Promise<void> {
  if (units.pods.some((pod) => isStorageFailure(pod, row.attempt, now()))) await storageWatch.isOutage();
}

function observePool(mediaJob: MediaJob, row: Job | null, ports: ObservePorts): ObservedPool {
  const { caches, slots, runnerNamespace } = ports;
  const fallback = mediaJob.metadata?.labels?.[labels.pool] ?? 'default';
  const name = row === null ? (mediaJob.spec.pool ?? fallback) : poolOf(mediaJob, row);
  const isImage = isImageType(mediaJob.spec.type);
  return {
    name,
    spec: caches.pools.get(runnerNamespace, name)?.spec ?? null,
    // Units take the slot of those before them, and of their own Job that was deleted with a lost node.
    hasCapacity: jobNamesOf(row).some((each) => slots.hasCapacity({ pool: name, isImage }, each)),
  };
}

interface WorkToObserve {
  readonly units: ObservedUnits | null;
  /** The Jobs of all attempts. */
  readonly jobs: readonly JobSnapshot[];
  readonly pool: ObservedPool;
  readonly nowMs: number;
}

async function observeWork(
  row: Job | null,
  { units, jobs, pool, nowMs }: WorkToObserve,
  { caches, slots: { running }, manifests }: ObservePorts,
): Promise<ObservedWork> {
  const names = jobNamesOf(row);
  const name = row === null || units === null ? '' : unitJobName(row, units.kind);
  const job = jobs.find(({ metadata }) => metadata.name === name) ?? null;
  const isOnReadyNode = ({ nodeName }: PodSnapshot) => caches.nodes.unready(nodeName) === null;
  const isParallel = units !== null && unitKindRow(units.kind).isParallel;
  const pod = job === null ? null : isParallel ? podOfUnits(units.pods, isOnReadyNode) : caches.podOf(name);
  return {
    job,
    isBeingCreated: names.some((each) => running.isBeingCreated(each)),
    isNeverCreated: running.isNeverCreated(names[0] ?? ''),
    isOutdated: job !== null && manifests.isOutdated(job.metadata, pool.spec),
    pod,
    podCreationFailure: await caches.podCreationFailures.of(
      job,
      isParallel ? units.pods : pod === null ? [] : [pod],
      nowMs,
    ),
    unreadyNode: caches.nodes.unready(pod?.nodeName),
    runningMs: pod !== null && hasStarted(pod) ? running.runningMs(name, nowMs) : 0,
  };
}

function jobNamesOf(row: Job | null): string[] {
  return row === null ? [''] : unitJobsOf(row).map(({ name }) => name);
}

function mayRun({ metadata, indexed }: JobSnapshot, caches: Pick<Caches, 'podOf'>): boolean {
  // One pod says nothing of the others.
  if (indexed !== undefined) return true;
  const pod = caches.podOf(metadata.name ?? '');
  return pod === null || !isPodOver(pod) || pod.hasRunningSidecar;
}
