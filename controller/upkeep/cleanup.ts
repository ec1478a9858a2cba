import { jobTypeRow } from '#domain/job-types/index.ts';
import { masterPath } from '#domain/media/revision-layout.ts';
import {
  chunkedRoot,
  imageFolder,
  resultManifestKey,
  revisionOf,
  videoFolder,
  videoKey,
  workRoot,
} from '#domain/media/object-keys.ts';
import { splitRevs } from '#jobs/completion/next-units.ts';
import type { CleanupStore, JobToCleanUp } from '#platform/postgres/cleanup-store.ts';
import type { DeletionFence, LockedHash } from '#platform/postgres/deletion-fence.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { dueTask } from './due-rows.ts';
import type { PeriodicTask } from '#platform/lifecycle/periodic-component.ts';
import { currentRevision, removeAllButLast, removeUnused } from './remove-objects.ts';

export interface CleanupDependencies {
  readonly cleanup: CleanupStore;
  readonly fence: DeletionFence;
  readonly media: ObjectStore;
  readonly log: Logger;
  /** A job is cleaned up this long after its end, when no worker can still be writing for it. */
  readonly graceMs: number;
}

/** A claimed job, and which revisions of its attempts its results name; null where that could not be asked at once. */
type ClaimedJob = JobToCleanUp & { readonly named: ReadonlySet<string> | null };

/**
 * Removes what final jobs left in the media bucket: their working objects, and revisions that never became public.
 *
 * The rows name the attempts and their revisions, and a working object names the revision of a chunked encode, so the
 * bucket is not searched. A revision stays when the job's results or the top master playlist name it. It also stays
 * when its attempt wrote a result manifest: it may have been public for a moment, so a player may have its playlist.
 *
 * Jobs share a chunked encode: its objects stay while such a job has not ended or ended lately, and the job is due
 * again later. Each page of deletions asks that again under the lock of the hash, so a worker that was paused deletes
 * nothing of a job that began meanwhile.
 *
 * A round continues until no job is due. A job whose cleanup fails is due again later, so it delays no other job.
 */
export function cleanupTask(dependencies: CleanupDependencies): PeriodicTask {
  const { cleanup, media, log } = dependencies;
  return dueTask('cleanup', {
    claim: (limit) => claimJobs(limit, dependencies),
    handle: (job) => cleanUp(job, dependencies),
    mark: (jobs) => cleanup.markSwept(jobs.map(({ jobId }) => jobId)),
    onFailure: ({ jobId }, error) => log.warn({ err: error, job_id: jobId }, 'job cleanup failed'),
    media,
  });
}

async function claimJobs(limit: number, { cleanup, graceMs }: CleanupDependencies): Promise<ClaimedJob[]> {
  const jobs = await cleanup.claim({ graceMs, limit });
  const named = await cleanup.namedRevisions(jobs.flatMap(attemptsOf)).catch(() => null);
  return jobs.map((job) => ({ ...job, named }));
}

/** Removes what the job shares with others. Returns the keys of its own working objects; null: it is deferred. */
async function cleanUp(job: ClaimedJob, dependencies: CleanupDependencies): Promise<readonly string[] | null> {
  const { media, log } = dependencies;
  const { jobId, hash } = job;
  const read = jobTypeRow(job.type).firstUnit === 'split' ? await splitRevs(jobId, media) : [];
  for (const rev of await unpublishedRevisions(job, dependencies)) {
    const images = await removeAllButLast(media, imageFolder(hash, rev));
    if (images.length > 0) await media.delete(images);
    const isUsed = async () => (await currentRevision(hash, media)) === rev;
    await removeUnused({ hash, prefix: videoFolder(hash, rev), isUsed }, dependencies);
  }
  for (const rev of new Set([...read, ...(job.chunkedRevs ?? [])])) {
    if (await removeChunked(job, rev, dependencies)) continue;
    log.debug({ job_id: jobId }, 'job cleanup deferred');
    return null;
  }
  // Last: the documents among them say which revisions were complete, and lead to the chunked encode.
  return removeAllButLast(media, `${workRoot(jobId)}/`);
}

function attemptsOf({ jobId, attempt }: JobToCleanUp) {
  return Array.from({ length: attempt }, (_, index) => ({
    jobId,
    attempt: index + 1,
    rev: revisionOf(jobId, index + 1),
  }));
}

/** The revisions of the job's attempts that no player can know. */
async function unpublishedRevisions(
  { named, ...job }: ClaimedJob,
  { cleanup, media }: CleanupDependencies,
): Promise<string[]> {
  const attempts = attemptsOf(job);
  const published = named ?? (await cleanup.namedRevisions(attempts));
  const unpublished: string[] = [];
  for (const { jobId, attempt, rev } of attempts) {
    if (published.has(rev)) continue;
    if ((await media.head(resultManifestKey(jobId, attempt))) === null) unpublished.push(rev);
  }
  return unpublished;
}

/** Removes the working objects of a chunked encode, and its segments unless a player may know them; whether it did. */
async function removeChunked(job: ClaimedJob, rev: string, dependencies: CleanupDependencies): Promise<boolean> {
  const { jobId, hash } = job;
  const { fence, media, graceMs } = dependencies;
  const mayBeContinued = (locked: LockedHash) => locked.mayBeContinued({ jobId, hash }, graceMs);
  const isPublic = async (locked: LockedHash) =>
    (await locked.isNamed({ jobId, hash }, rev, null)) || (await currentRevision(hash, media)) === rev;
  const isUsed = async (locked: LockedHash) => (await mayBeContinued(locked)) || (await isPublic(locked));
  // Its master playlist is written last. A job that writes it now has not ended.
  const isFinished = (await media.head(videoKey(hash, rev, masterPath))) !== null;
  const mayBeKnown = isFinished && ((await isOwn(job, rev, dependencies)) || (await fence.underLock(hash, isPublic)));
  const stream = { hash, prefix: videoFolder(hash, rev), isUsed };
  if (!mayBeKnown && (await removeUnused(stream, dependencies)) === null) return false;
  const working = { hash, prefix: `${chunkedRoot(rev)}/`, isUsed: mayBeContinued };
  return (await removeUnused(working, dependencies)) !== null;
}

/** Whether the job has published the revision of a chunked encode, if only for a moment. */
async function isOwn(job: ClaimedJob, rev: string, { cleanup, media }: CleanupDependencies): Promise<boolean> {
  const { jobId } = job;
  if ((await cleanup.namedRevisions([{ jobId, rev }])).has(rev)) return true;
  for (const { attempt } of attemptsOf(job))
    if ((await media.head(resultManifestKey(jobId, attempt))) !== null) return true;
  return false;
}
