import { jobTypeRow } from '#domain/job-types/index.ts';
import type { Job } from '#domain/jobs/job.ts';
import { type FilmWork, findFilmWork } from '#jobs/film.ts';
import type { RunnerPoolSpec } from '#domain/kubernetes/runner-pool.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import { type FilmSnapshot, filmOf } from '../film.ts';
import type { LeaderContext } from '../leader-context.ts';
import { attemptJobName, partJobName, partKinds } from '../manifests/names.ts';
import { endOfJob, hasStarted, isPodOver, type JobSnapshot, type PodSnapshot } from '../snapshots.ts';
import { endOfAttempt } from './attempt-end.ts';
import type { NextPart, ObservedFilm } from './observed.ts';
import { isClaimed } from './plan-status.ts';

interface FilmToObserve {
  readonly row: Job;
  readonly mediaJob: MediaJob;
  readonly pool: { readonly name: string; readonly spec: RunnerPoolSpec | null };
}

/**
 * The film of a job; null for a job type without chunks, `unread` where the media bucket has to be read and may not be.
 * The Jobs of an attempt say how far it is, and the records in the bucket which chunks are finished: both are there for
 * the next leader too. The bucket is read only when a part has ended or an attempt begins.
 */
export async function observeFilm(
  { row, mediaJob, pool }: FilmToObserve,
  context: LeaderContext,
  readsBucket: boolean,
): Promise<ObservedFilm | null | 'unread'> {
  if (!jobTypeRow(row.type).hasChunks) return null;
  const { caches } = context;
  const part = partKinds.findLast((kind) => caches.job(partJobName(row, kind)) !== null) ?? 'split';
  const name = partJobName(row, part);
  const job = caches.job(name);
  const snapshot = filmOf(job?.metadata.annotations);
  const isWaiting = isClaimed(row) && mediaJob.spec.suspend !== true;
  const current = { row, job, part: { kind: part, film: snapshot }, readsBucket };
  const next = isWaiting ? await nextPart(current, context) : null;
  if (next === 'unread') return next;
  return {
    part,
    snapshot,
    pods: part === 'encode' && job !== null ? caches.podsOf(name).filter((pod) => isPodOf(pod, job)) : [],
    parallelism: parallelismOf({ row, mediaJob, pool }, { job, next }, context),
    next,
  };
}

/** How many chunks may be encoded at once; 1 for any other part. */
function parallelismOf(
  { row, mediaJob, pool }: FilmToObserve,
  { job, next }: { readonly job: JobSnapshot | null; readonly next: NextPart | null },
  { slots, now }: LeaderContext,
): number {
  const chunks = next === null ? job?.indexed?.completions : next.kind === 'encode' ? next.film?.chunks.length : 1;
  if (chunks === undefined || chunks === 1) return 1;
  // Kueue has admitted so many pods, and would begin anew with another number.
  if (next === null && pool.spec?.kueueQueue) return job?.indexed?.parallelism ?? 1;
  const podsMax = Math.min(chunks, pool.spec?.chunkParallelism ?? Infinity, mediaJob.spec.chunks ?? Infinity);
  return slots.chunkPods.of({ name: partJobName(row, 'encode'), pool: pool.name, podsMax }, now());
}

interface CurrentPart {
  readonly row: Job;
  readonly job: JobSnapshot | null;
  readonly part: NextPart;
  readonly readsBucket: boolean;
}

async function nextPart(
  { row, job, part, readsBucket }: CurrentPart,
  context: LeaderContext,
): Promise<NextPart | null | 'unread'> {
  const { caches, slots, dependencies, now } = context;
  const { media } = dependencies;
  const split: NextPart = { kind: 'split', film: null };
  if (job === null) {
    // Only an attempt before this one can have split the source.
    if (row.attempt === 1 || !slots.running.isNeverCreated(attemptJobName(row))) return split;
    if (!readsBucket) return 'unread';
    const work = await findFilmWork(row.id, media);
    return work?.hasSound === true ? partAfter(work) : split;
  }
  if (part.kind === 'encode' && endOfJob(job)?.type === 'Complete' && part.film !== null)
    return { kind: 'finish', film: { ...part.film, chunks: [] } };
  if (part.kind !== 'split') return null;
  const pod = caches.podOf(job.metadata.name ?? '');
  if (endOfAttempt({ attempt: row.attempt, job, pod }, now())?.kind !== 'done') return null;
  if (!readsBucket) return 'unread';
  const work = await findFilmWork(row.id, media);
  return work === null ? null : partAfter(work);
}

function partAfter({ film, finished }: FilmWork): NextPart {
  const { rev, chunk_frames: frames } = film;
  const chunks = [...frames.keys()].filter((chunk) => !finished.has(chunk));
  const snapshot: FilmSnapshot = { rev, frames, chunks };
  return { kind: chunks.length === 0 ? 'finish' : 'encode', film: snapshot };
}

/** Whether a pod is of this Job, and not of another one that had its name. */
function isPodOf({ metadata }: PodSnapshot, job: JobSnapshot): boolean {
  return (metadata.labels?.['batch.kubernetes.io/controller-uid'] ?? job.metadata.uid) === job.metadata.uid;
}

/** The pod that speaks for those of all chunks: one that runs on a node that answers, else one that waits. */
export function podOfChunks(
  pods: readonly PodSnapshot[],
  isOnReadyNode: (pod: PodSnapshot) => boolean,
): PodSnapshot | null {
  const active = pods.filter((pod) => !isPodOver(pod));
  const started = active.filter(hasStarted);
  return started.find(isOnReadyNode) ?? started[0] ?? active[0] ?? pods.at(-1) ?? null;
}
