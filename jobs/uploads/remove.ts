import { KnownProblem } from '#domain/errors.ts';
import type { EndedUpload } from '#platform/postgres/upload-store.ts';
import type { UploadDependencies } from './dependencies.ts';

type RemoveDependencies = Pick<UploadDependencies, 'rows' | 'bucket' | 'log'>;

/** Removes what an upload that was aborted or has expired stored, and notes that. Repeating it changes nothing. */
async function removeStored({ rows, bucket }: RemoveDependencies, upload: EndedUpload): Promise<void> {
  await bucket.objects.delete(await removeParts(bucket, upload));
  await rows.markCleanedUp([upload.id]);
}

/** Removes the parts of such an upload. @returns the keys of what else it may have stored */
export async function removeParts(
  { parts }: Pick<RemoveDependencies['bucket'], 'parts'>,
  { source }: EndedUpload,
): Promise<readonly string[]> {
  await parts.abort(source);
  return [source];
}

/** The same now, if the store lets it; else the worker does it later. */
export async function tryToRemoveStored(dependencies: RemoveDependencies, upload: EndedUpload): Promise<void> {
  await removeStored(dependencies, upload).catch((error: unknown) =>
    dependencies.log.warn({ err: error, upload_id: upload.id }, 'upload not removed'),
  );
}

/**
 * Deletes an upload. The row is the decision; what is stored goes after it. Whether this call changed anything.
 *
 * @throws KnownProblem `not_found`; `upload_conflict` when it is being completed or has completed
 */
export async function deleteUpload(dependencies: RemoveDependencies, id: string): Promise<boolean> {
  const { rows } = dependencies;
  const upload = await rows.find(id);
  if (upload === null) throw new KnownProblem('not_found', 'There is no such upload.');
  const isDeleted = upload.status === 'open' && (await rows.abort(id, 'deleted', ['open']));
  const status = isDeleted ? 'aborted' : ((await rows.find(id))?.status ?? 'aborted');
  if (status === 'completing') throw new KnownProblem('upload_conflict', 'The upload is being completed.');
  if (status === 'completed')
    throw new KnownProblem('upload_conflict', 'The upload has completed: its object is a source now.');
  if (isDeleted) await tryToRemoveStored(dependencies, upload);
  return isDeleted;
}
