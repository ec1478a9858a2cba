import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { ByteRange, ObjectInfo, ObjectStore, StoredObject } from '#platform/storage/object-store.ts';
import { ByteCache } from './byte-cache.ts';
import { ReadCache } from './read-cache.ts';
import type { CoalescedRead } from './coalesced-read.ts';

const compress = promisify(gzip);
/** A playlist over this is read like any other object. */
const playlistBytesMax = 4 * 1024 * 1024;
/** Of the memory: playlists are small, and the rest is for segments. */
const playlistShare = 1 / 8;
/** How old the only thing that changes, a top master playlist, may be when it is answered from memory. */
const freshMs = 1_000;
/** What lies below a revision never changes (domain/media/object-keys.ts). */
const belowRevision = /^videos\/[0-9a-f]{2}\/[^/]+\/[0-9a-f]{16}\//;

/** A small object whole, and its compressed form, made when it is first asked for. */
export interface Playlist {
  readonly info: ObjectInfo;
  readonly bytes: Buffer;
  /** The bytes as latin1, which every byte survives. */
  readonly text: string;
  readonly gzipped: () => Promise<Buffer>;
  /** Null until `gzipped` was asked for once. */
  readonly gzippedNow: Buffer | null;
  /** The compressed form is another representation and has another strong ETag (RFC 9110, section 8.8.3.3). */
  readonly gzipEtag: string;
}

interface KeptPlaylist {
  readonly playlist: Playlist;
  /** By the process's own clock, in milliseconds; for what never changes, for ever. */
  readonly freshUntilMs: number;
}

/**
 * The one way from delivery to the media bucket: what was asked for lately is in memory, and what several ask for at
 * once is read once. Nothing here needs a database.
 */
export class MediaReader {
  readonly #media: ObjectStore;
  readonly #playlists: ByteCache<KeptPlaylist>;
  readonly #reads: ReadCache;
  readonly #playlistsUnderWay = new Map<string, Promise<Playlist | null>>();
  readonly #opening = new Map<string, Promise<CoalescedRead | null>>();

  /** `cacheBytesMax` bounds all that is kept and shared; with 0, nothing is but playlists while they are read. */
  constructor(media: ObjectStore, { cacheBytesMax }: { readonly cacheBytesMax: number }) {
    this.#media = media;
    this.#playlists = new ByteCache(cacheBytesMax * playlistShare);
    this.#reads = new ReadCache(cacheBytesMax * (1 - playlistShare));
  }

  /** Null when there is no such object. */
  async head(key: string, signal: AbortSignal): Promise<ObjectInfo | null> {
    return this.kept(key)?.info ?? (await this.#media.head(key, signal));
  }

  /** An object that is in memory whole; null when it is not. */
  kept(key: string): CoalescedRead | null {
    const read = this.#reads.find(key);
    return read?.state === 'whole' ? read : null;
  }

  /**
   * The whole object, shared with others who ask for it. Whoever gets it must join it before anything else happens.
   * Null when there is no object.
   */
  async open(key: string): Promise<CoalescedRead | null> {
    const found = this.#reads.find(key);
    if (found !== null) return found;
    const opening = this.#opening.get(key);
    if (opening !== undefined) {
      if ((await opening) === null) return null;
      // Not shared where there is no room to keep it: a slow client would hold the others up.
      return this.#reads.find(key) ?? this.#begin(key);
    }
    // What one of them gives up, the others still want: no client's signal ends it, the store's own timeout does.
    const begun = this.#begin(key).finally(() => this.#opening.delete(key));
    this.#opening.set(key, begun);
    return begun;
  }

  async #begin(key: string): Promise<CoalescedRead | null> {
    const download = await this.#media.download(key);
    if (download === null) return null;
    const read = this.#reads.begin(key, download);
    setImmediate(() => read.endUnread());
    return read;
  }

  /** A part of the object, for one client; `signal` ends it when that one goes. Null when there is no object. */
  openRange(
    key: string,
    options: { readonly range: ByteRange; readonly ifMatch: string; readonly signal?: AbortSignal },
  ): Promise<StoredObject | null> {
    return this.#media.get(key, options);
  }

  /** Whether a playlist can be answered without asking the bucket. */
  keptPlaylist(key: string): Playlist | null {
    const kept = this.#playlists.get(key);
    return kept !== undefined && kept.freshUntilMs > performance.now() ? kept.playlist : null;
  }

  /** A small object whole; null when there is none, or it is too large for one. */
  async playlist(key: string): Promise<Playlist | null> {
    const kept = this.keptPlaylist(key);
    if (kept !== null) return kept;
    const underWay = this.#playlistsUnderWay.get(key);
    if (underWay !== undefined) return underWay;
    const begun = this.#readPlaylist(key).finally(() => this.#playlistsUnderWay.delete(key));
    this.#playlistsUnderWay.set(key, begun);
    return begun;
  }

  async #readPlaylist(key: string): Promise<Playlist | null> {
    const askedAtMs = performance.now();
    const found = await this.#media.get(key);
    if (found === null) return null;
    if (found.info.sizeBytes > playlistBytesMax) {
      found.body.destroy();
      return null;
    }
    const bytes = await buffer(found.body);
    const before = this.#playlists.get(key)?.playlist;
    // The same playlist read again keeps its compressed form.
    const playlist = before?.info.etag === found.info.etag ? before : playlistOf(found.info, bytes);
    const freshUntilMs = belowRevision.test(key) ? Infinity : askedAtMs + freshMs;
    // Bytes, text, and the compressed form, which comes later and is never larger by much.
    this.#playlists.set(key, { playlist, freshUntilMs }, 3 * bytes.length + 1024);
    return playlist;
  }
}

function playlistOf(info: ObjectInfo, bytes: Buffer): Playlist {
  let gzipped: Promise<Buffer> | undefined;
  let gzippedNow: Buffer | null = null;
  return {
    info,
    bytes,
    text: bytes.toString('latin1'),
    gzipped: () => (gzipped ??= compress(bytes).then((compressed) => (gzippedNow = compressed))),
    get gzippedNow() {
      return gzippedNow;
    },
    gzipEtag: info.etag.replace(/"$/, '-gzip"'),
  };
}
