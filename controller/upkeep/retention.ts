import { hashOfKey, imageFolder, masterKey, revisionOf, videoFolder } from '#domain/media/object-keys.ts';
import { withDigestKeys } from '#domain/work/object-digests.ts';
import { imageKeysOf } from '#domain/job-types/image-keys.ts';
import type { CleanupStore } from '#platform/postgres/cleanup-store.ts';
import type { DeletionFence, LockedHash } from '#platform/postgres/deletion-fence.ts';
import type { ExpiredJob, OldJob, RetentionStore } from '#platform/postgres/retention-store.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { dueTask } from './due-rows.ts';
import type { PeriodicTask } from '#platform/lifecycle/periodic-component.ts';
import { currentRevision, removeAllButLast, removeUnused, type SharedObjects } from './remove-objects.ts';

/*
 * Removes what is older than the retention times. A job's row is marked as expired first, so that an equal request
 * makes a new job; then its objects are deleted, and last the row is marked or deleted. A crash leaves a row that is
 * due again. Each page of objects asks again, under the lock of the hash, what other rows, the top master playlist and
 * running jobs need.
 */

export interface RetentionDependencies {
  readonly retention: RetentionStore;
  readonly cleanup: Pick<CleanupStore, 'resultsOf'>;
  readonly fence: DeletionFence;
  readonly media: ObjectStore;
  readonly log: Logger;
  /** `JOB_RETENTION`; null: jobs are kept. */
  readonly jobRetentionMs: number | null;
  /** `REVISION_RETENTION`; null: replaced streams are kept. */
  readonly revisionRetentionMs: number | null;
}

/** A task for each retention time that is set, so that neither waits for the other. */
export function retentionTasks(dependencies: RetentionDependencies): PeriodicTask[] {
  const { retention, media, log, jobRetentionMs, revisionRetentionMs } = dependencies;
  const tasks: PeriodicTask[] = [];
  if (revisionRetentionMs !== null)
    tasks.push(
      dueTask('revision retention', {
        claim: (limit) => retention.claimReplaced({ retentionMs: revisionRetentionMs, limit }),
        handle: (job) => removeReplaced(job, revisionRetentionMs, dependencies),
        mark: (jobs) => retention.markRevisionsDeleted(jobs.map(({ jobId }) => jobId)),
        onFailure: ({ jobId }, error) => log.warn({ err: error, job_id: jobId }, 'replaced stream not removed'),
        media,
      }),
    );
  if (jobRetentionMs !== null)
    tasks.push(
      dueTask('job retention', {
        claim: (limit) => retention.claimOld({ retentionMs: jobRetentionMs, limit }),
        handle: (job) => removeOld(job, dependencies),
        mark: (jobs) => retention.deleteJobs(jobs.map(({ jobId }) => jobId)),
        onFailure: ({ jobId }, error) => log.warn({ err: error, job_id: jobId }, 'old job not deleted'),
        media: { delete: (keys) => deleteUnheld(keys, dependencies) },
      }),
    );
  return tasks;
}

/** Removes a replaced stream. The cover and the preview of its job stay, since its results still name them. */
async function removeReplaced(
  job: ExpiredJob,
  retentionMs: number,
  dependencies: RetentionDependencies,
): Promise<readonly string[] | null> {
  const { cleanup, fence, log } = dependencies;
  const { jobId, hash } = job;
  const except = withDigestKeys(imageKeysOf(await cleanup.resultsOf(jobId)));
  const streams = streamsOf(job, retentionMs, dependencies);
  const isExpired = await fence.underLock(hash, async (locked) => {
    for (const { isUsed } of streams) if (await isUsed(locked)) return false;
    await locked.expireResults(jobId);
    return true;
  });
  if (!isExpired) return null;
  let removed = 0;
  for (const stream of streams) removed += (await removeUnused({ ...stream, except }, dependencies)) ?? 0;
  log.info({ job_id: jobId, objects: removed }, 'replaced stream removed');
  return [];
}

/** Deletes images but where a legal hold has begun since their jobs were claimed: it keeps the jobs too. */
function deleteUnheld(keys: readonly string[], { fence, media }: RetentionDependencies): Promise<void> {
  const hashes = [...new Set(keys.map(hashOfKey))];
  return fence.underLocks(hashes, async (locked) => {
    const held = await locked.heldOf(hashes);
    locked.assertHeld();
    await media.delete(keys.filter((key) => !held.has(hashOfKey(key))));
  });
}

/** Removes all objects of a job's results; also the stream that is played, where no other job made it. */
async function removeOld(job: OldJob, dependencies: RetentionDependencies): Promise<readonly string[] | null> {
  const { media } = dependencies;
  const { hash, streamRev, isExpired } = job;
  const remove = (keys: readonly string[]) => deleteUnheld(keys, dependencies);
  if (!isExpired) return null;
  const folders = [...revisionsOf(job)].flatMap((rev) =>
    streamRev === null ? [imageFolder(hash, rev), videoFolder(hash, rev)] : [imageFolder(hash, rev)],
  );
  const keys: string[] = [];
  for (const folder of folders) keys.push(...(await removeAllButLast(media, folder, remove)));
  if (streamRev === null) return keys;
  await unpublish(job, dependencies);
  for (const stream of streamsOf(job, null, dependencies)) await removeUnused(stream, dependencies);
  return keys;
}

/** Removes the top master playlist if it names a revision of this job alone. */
async function unpublish(job: ExpiredJob, { fence, media }: RetentionDependencies): Promise<void> {
  // What names none of them now may name one later only for a job that shares it.
  const named = await currentRevision(job.hash, media);
  if (named === null || !revisionsOf(job).has(named)) return;
  await fence.underLock(job.hash, async (locked) => {
    const current = await currentRevision(job.hash, media);
    if (current === null || !revisionsOf(job).has(current)) return;
    if ((await locked.isHeld(job.hash)) || (await isShared(job, current, { locked }))) return;
    locked.assertHeld();
    await media.delete([masterKey(job.hash)]);
  });
}

/** The streams of the job, none of which may be removed while another job or the top master playlist names it. */
function streamsOf(job: ExpiredJob, retentionMs: number | null, { media }: RetentionDependencies): SharedObjects[] {
  const { hash } = job;
  return [...revisionsOf(job)].map((rev) => ({
    hash,
    prefix: videoFolder(hash, rev),
    isUsed: async (locked) =>
      (await locked.isHeld(hash)) ||
      (await isShared(job, rev, { locked, retentionMs })) ||
      (await currentRevision(hash, media)) === rev,
  }));
}

/** Every revision that the job's attempts made, and the one of its stream. */
function revisionsOf({ jobId, attempt, streamRev }: ExpiredJob): ReadonlySet<string> {
  const ofAttempts = Array.from({ length: attempt }, (_, index) => revisionOf(jobId, index + 1));
  return new Set(streamRev === null ? ofAttempts : [...ofAttempts, streamRev]);
}

/** Whether another job names the revision or may yet make it. Revisions of the job's attempts belong to it alone. */
async function isShared(
  job: ExpiredJob,
  rev: string,
  { locked, retentionMs = null }: { readonly locked: LockedHash; readonly retentionMs?: number | null },
): Promise<boolean> {
  if (revisionsOf({ ...job, streamRev: null }).has(rev)) return false;
  return (await locked.isNamed(job, rev, retentionMs)) || (await locked.mayBeContinued(job));
}
