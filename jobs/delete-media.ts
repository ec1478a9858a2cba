import { KnownProblem } from '#domain/errors.ts';
import type { DeletionReason, MediaDeletion } from '#domain/library/deletion.ts';
import type { MediaDeletionStore } from '#platform/postgres/media-deletion-store.ts';
import { cancelJob, type CancelDependencies } from './submission/cancel.ts';

export interface DeleteMediaDependencies extends CancelDependencies {
  readonly deletions: Pick<MediaDeletionStore, 'begin' | 'activeJobs'>;
  /** `PURGE_HOOK_URL`. */
  readonly purgeHookUrl: string | null;
}

/**
 * Begins the deletion of a media, or finds the one that was begun. Its row is the acceptance: the key is deleted with
 * it, delivery answers 410 within seconds, and no job of the hash begins. Then its jobs are cancelled; a crash before
 * that leaves it to the worker, which removes the objects.
 *
 * @throws KnownProblem `not_found`; `conflict` under a legal hold
 */
export async function deleteMedia(
  dependencies: DeleteMediaDependencies,
  { hash, reason, keyId }: { readonly hash: string; readonly reason: DeletionReason; readonly keyId?: string },
): Promise<{ readonly deletion: MediaDeletion; readonly isNew: boolean }> {
  const { deletions, purgeHookUrl, randomUuid } = dependencies;
  const purge = purgeHookUrl === null ? null : { url: purgeHookUrl, eventId: randomUuid() };
  const begun = await deletions.begin({ id: randomUuid(), hash, reason, purge, keyId });
  if (begun === null) throw unknownMedia;
  await cancelJobsOf(begun.deletion, dependencies);
  return begun;
}

export const unknownMedia = new KnownProblem('not_found', 'Nothing was made under this hash.');

/** Cancels the jobs that a deletion ends. Returns whether none was left. */
export async function cancelJobsOf(
  { id }: Pick<MediaDeletion, 'id'>,
  dependencies: CancelDependencies & Pick<DeleteMediaDependencies, 'deletions'>,
): Promise<boolean> {
  const jobIds = await dependencies.deletions.activeJobs(id);
  for (const jobId of jobIds) {
    await cancelJob(dependencies, jobId).catch((error: unknown) => {
      // It ended by itself meanwhile.
      if (!(error instanceof KnownProblem)) throw error;
    });
  }
  return jobIds.length === 0;
}
