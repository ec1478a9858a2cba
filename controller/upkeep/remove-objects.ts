import { currentRevision as revisionNow } from '#domain/media/object-keys.ts';
import type { DeletionFence, LockedHash } from '#platform/postgres/deletion-fence.ts';
import { readText } from '#platform/storage/bounded-reads.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';

/** The most keys that S3 deletes in one request. */
const keysAtOnce = 1000;

/**
 * Removes the objects below a prefix that no other job uses, but for the last page: its keys are returned, so that many
 * small folders are removed by one request.
 */
export async function removeAllButLast(
  media: ObjectStore,
  prefix: string,
  remove = (keys: readonly string[]) => media.delete(keys),
): Promise<readonly string[]> {
  let last: readonly string[] = [];
  for await (const keys of pagesUnder(media, prefix)) {
    if (last.length > 0) await remove(last);
    last = keys;
  }
  return last;
}

/** Objects that other jobs of the hash, or players, may use. */
export interface SharedObjects {
  readonly hash: string;
  /** With a slash at its end. */
  readonly prefix: string;
  /** Keys that stay. */
  readonly except?: ReadonlySet<string>;
  /** Asked for each page, under the lock of the hash. */
  readonly isUsed: (locked: LockedHash) => Promise<boolean>;
  /** The most keys of a page. */
  readonly pageKeysMax?: number;
  /** Before each page, with the number of its objects. */
  readonly pace?: (objects: number) => Promise<void>;
  /** After each page, with the number of its objects. */
  readonly onRemoved?: (objects: number) => Promise<void>;
}

export interface RemovalDependencies {
  readonly fence: DeletionFence;
  readonly media: ObjectStore;
}

/** Removes a page of objects at a time while nothing uses them; returns their number, null when something does. */
export async function removeUnused(
  { hash, prefix, except, isUsed, pageKeysMax, pace, onRemoved }: SharedObjects,
  { fence, media }: RemovalDependencies,
): Promise<number | null> {
  let removed = 0;
  for await (const page of pagesUnder(media, prefix, pageKeysMax)) {
    const keys = page.filter((key) => except?.has(key) !== true);
    await pace?.(keys.length);
    const isRemoved = await fence.underLock(hash, async (locked) => {
      if (await isUsed(locked)) return false;
      // A process that was frozen since it asked deletes nothing.
      locked.assertHeld();
      if (keys.length > 0) await media.delete(keys);
      return true;
    });
    if (!isRemoved) return null;
    removed += keys.length;
    await onRemoved?.(keys.length);
  }
  return removed;
}

const playlistBytesMax = 1024 * 1024;

/** The revision that the top master playlist of `hash` names; null without one. */
export function currentRevision(hash: string, media: ObjectStore): Promise<string | null> {
  return revisionNow(hash, (key) => readText(media, { key, bytesMax: playlistBytesMax }));
}

/** The keys below a prefix, at most as many at a time as one request deletes. */
async function* pagesUnder(media: ObjectStore, prefix: string, keysMax = keysAtOnce): AsyncGenerator<string[]> {
  let keys: string[] = [];
  for await (const { key } of media.list(prefix)) {
    keys.push(key);
    if (keys.length < keysMax) continue;
    yield keys;
    keys = [];
  }
  if (keys.length > 0) yield keys;
}
