import type { EndedImport, ImportStore } from '#platform/postgres/import-store.ts';
import type { UploadBucket } from '#platform/storage/upload-bucket.ts';

/** Removes what an import that failed or was cancelled stored, and notes that. Repeating it changes nothing. */
export async function removeImported(
  { rows, bucket }: { readonly rows: ImportStore; readonly bucket: UploadBucket },
  ended: EndedImport,
): Promise<void> {
  const keys = await removeParts(bucket, ended);
  if (keys.length > 0) await bucket.objects.delete(keys);
  await rows.markCleanedUp([ended.id]);
}

/**
 * Removes the parts of such an import. An object under its key that the import did not write stays.
 *
 * @returns the keys of what else it may have stored
 */
export async function removeParts(
  { parts }: Pick<UploadBucket, 'parts'>,
  { source, multipartId, errorCode }: EndedImport,
): Promise<readonly string[]> {
  await parts.abort(source);
  return multipartId !== null && errorCode !== 'key_exists' ? [source] : [];
}
