import { buffer } from 'node:stream/consumers';
import type { ByteRange, ObjectInfo, ObjectStore, StoredObject } from '#platform/storage/object-store.ts';

interface ReadOptions {
  readonly range?: ByteRange;
  readonly ifMatch?: string;
  readonly signal: AbortSignal;
}

/** The one way from delivery to the media bucket: caches and faster roads belong behind it. */
export class MediaReader {
  readonly #media: ObjectStore;

  constructor(media: ObjectStore) {
    this.#media = media;
  }

  /** Null when there is no such object. */
  head(key: string, signal: AbortSignal): Promise<ObjectInfo | null> {
    return this.#media.head(key, signal);
  }

  /** The body is read as the client takes it; `signal` ends it when the client goes. Null when there is no object. */
  open(key: string, options: ReadOptions): Promise<StoredObject | null> {
    return this.#media.get(key, options);
  }

  /** A small object whole (playlists); null when there is none or it is over `sizeBytesMax`. */
  async readWhole(
    key: string,
    { sizeBytesMax, signal }: { sizeBytesMax: number; signal: AbortSignal },
  ): Promise<{ info: ObjectInfo; bytes: Buffer } | null> {
    const found = await this.#media.get(key, { signal });
    if (found === null) return null;
    if (found.info.sizeBytes > sizeBytesMax) {
      found.body.destroy();
      return null;
    }
    return { info: found.info, bytes: await buffer(found.body) };
  }
}
