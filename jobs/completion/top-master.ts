import { KnownProblem } from '#domain/errors.ts';
import { storedContentType } from '#domain/media/content-types.ts';
import { masterKey } from '#domain/media/object-keys.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';

/** A row is locked meanwhile, and a connection to the database is in use. */
const publishTimeoutMs = 5_000;

/** Makes a stream public: writes the one object of a media that changes. @throws KnownProblem `storage_error` */
export async function putTopMaster(hash: string, topMaster: string, media: ObjectStore): Promise<void> {
  const key = masterKey(hash);
  const signal = AbortSignal.timeout(publishTimeoutMs);
  try {
    await media.put(key, topMaster, { contentType: storedContentType(key), signal });
  } catch (cause) {
    throw new KnownProblem('storage_error', undefined, { cause });
  }
}
