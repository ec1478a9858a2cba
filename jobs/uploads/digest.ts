import { createHash } from 'node:crypto';
import type { ObjectInfo, ObjectStore } from '#platform/storage/object-store.ts';

/**
 * SHA-256 of an object, in lower-case hex; null when it is another one by now. It is read by pieces of reused memory,
 * however large it is.
 *
 * @throws KnownProblem `storage_error`; the reason of `signal`
 */
export async function sha256Of(
  objects: Pick<ObjectStore, 'download'>,
  { key, etag }: Pick<ObjectInfo, 'key' | 'etag'>,
  signal?: AbortSignal,
): Promise<string | null> {
  const download = await objects.download(key, { signal });
  if (download === null) return null;
  if (download.info.etag !== etag) {
    download.destroy();
    return null;
  }
  const digest = createHash('sha256');
  await new Promise<void>((resolve, reject) =>
    download.start({
      onPiece: (piece) => {
        digest.update(piece.bytes);
        piece.release();
      },
      onEnd: resolve,
      onFailure: reject,
    }),
  );
  return digest.digest('hex');
}
