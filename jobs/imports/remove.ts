import type { EndedImport, ImportStore } from '#platform/postgres/import-store.ts';
import type { UploadBucket } from '#platform/storage/upload-bucket.ts';

/**
 * Removes what an import that failed or was cancelled stored, and notes that. Repeating it changes nothing. An object
 * under its key that the import did not write stays.
 */
export async function removeImported(
  { rows, bucket }: { readonly rows: ImportStore; readonly bucket: UploadBucket },
  ended: EndedImport,
): Promise<void> {
  await bucket.parts.abort(ended.source);
  const { multipartId, errorCode } = ended;
  if (multipartId !== null && errorCode !== 'key_exists') await bucket.objects.delete([ended.source]);
  await rows.markCleanedUp(ended.id);
}
