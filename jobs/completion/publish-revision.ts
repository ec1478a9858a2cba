import { KnownProblem } from '#domain/errors.ts';
import { topMasterOf } from '#domain/media/master-playlist.ts';
import { videoKey } from '#domain/media/object-keys.ts';
import { masterPath } from '#domain/media/revision-layout.ts';
import type { MediaStore } from '#platform/postgres/media-store.ts';
import { readText } from '#platform/storage/bounded-reads.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { putTopMaster } from './top-master.ts';

interface PublishDependencies {
  readonly library: Pick<MediaStore, 'publishEarlier'>;
  readonly media: ObjectStore;
}

const masterBytesMax = 1024 * 1024;

/**
 * Publishes an earlier stream of a media again. Its objects never changed; the one write is the top master playlist. A
 * crash between that write and its commit leaves a stream that is played and rows that name another: both are kept
 * until the call is repeated, since what the master names is never deleted.
 *
 * @throws KnownProblem `not_found` for a revision whose objects are deleted or of another media; `conflict` for a
 *   deleted media, or one whose stream is not of the job `replaces`; `storage_error`
 */
export async function publishRevision(
  { library, media }: PublishDependencies,
  { hash, rev, replaces }: { readonly hash: string; readonly rev: string; readonly replaces?: string },
): Promise<void> {
  const master = await readText(media, { key: videoKey(hash, rev, masterPath), bytesMax: masterBytesMax });
  const isPublished =
    master !== null &&
    (await library.publishEarlier({
      hash,
      rev,
      ...(replaces === undefined ? {} : { replaces }),
      publish: () => putTopMaster(hash, topMasterOf(master, rev), media),
    }));
  if (!isPublished)
    throw new KnownProblem('not_found', 'The media has no such revision; GET /api/media/{hash} lists them.');
}
