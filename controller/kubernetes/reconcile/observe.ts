import { type MediaJob } from '#platform/kubernetes/objects.ts';
import { keyOf } from '#platform/kubernetes/store.ts';
import type { Caches } from '../cache/caches.ts';
import type { LeaderContext } from '../leader-context.ts';
import { templateHash } from '../manifests/job-manifest.ts';
import { labels, type PartKind, partJobName, partKinds, templateAnnotation } from '../manifests/names.ts';
import { hasStarted, isPodOver, jobIdOf, type JobSnapshot, type PodSnapshot, poolOf } from '../snapshots.ts';
import { observeFilm, podOfChunks } from './observe-film.ts';
import type { Observed } from './observed.ts';

/**
 * The observed state of a MediaJob: one read of Postgres, and the caches and registers of this process; for a film at
 * times also of the media bucket. Null where that is needed and `readsBucket` forbids it.
 */
export async function observe(
  mediaJob: MediaJob,
  context: LeaderContext,
  readsBucket: boolean,
): Promise<Observed | null> {
  const { dependencies, caches, slots, ownWrites, progressRate, now } = context;
  const { running } = slots;
  const row = await dependencies.jobs.find(jobIdOf(mediaJob));
  const nowMs = now();
  const fallback = mediaJob.metadata?.labels?.[labels.pool] ?? 'default';
  const pool = row === null ? (mediaJob.spec.pool ?? fallback) : poolOf(mediaJob, row);
  const spec = caches.pools.get(dependencies.runnerNamespace, pool)?.spec ?? null;
  const ofPool = { name: pool, spec };
  const film = row === null ? null : await observeFilm({ row, mediaJob, pool: ofPool }, context, readsBucket);
  if (film === 'unread') return null;
  const nameOf = (part: PartKind) => (row === null ? '' : partJobName(row, part));
  const name = nameOf(film?.part ?? 'split');
  const job = caches.job(name);
  const isOnReadyNode = ({ nodeName }: PodSnapshot) => caches.nodes.unready(nodeName) === null;
  const ofChunks = film?.part === 'encode' ? podOfChunks(film.pods, isOnReadyNode) : undefined;
  const pod = job === null ? null : ofChunks === undefined ? caches.podOf(name) : ofChunks;
  return {
    mediaJob,
    row,
    film,
    job,
    isJobBeingCreated: partKinds.some((part) => running.isBeingCreated(nameOf(part))),
    isJobNeverCreated: running.isNeverCreated(nameOf('split')),
    runningMs: pod !== null && hasStarted(pod) ? running.runningMs(name, nowMs) : 0,
    otherJobs:
      row === null ? [] : caches.jobsOf(row.id).filter((each) => each.metadata.name !== name && mayRun(each, caches)),
    pod,
    unreadyNode: caches.nodes.unready(pod?.nodeName),
    pool: ofPool,
    // A part of a film takes the slot of the one before it, and of its own Job that was deleted with a lost node.
    hasCapacity: partKinds.some((part) => slots.hasCapacity(pool, nameOf(part))),
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

function mayRun({ metadata, indexed }: JobSnapshot, caches: Caches): boolean {
  // One pod says nothing of the others.
  if (indexed !== undefined) return true;
  const pod = caches.podOf(metadata.name ?? '');
  return pod === null || !isPodOver(pod) || pod.hasRunningSidecar;
}
