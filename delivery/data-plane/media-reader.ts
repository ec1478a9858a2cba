import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import { KnownProblem } from '#domain/errors.ts';
import { folderOf, isBelowRevision, videoRoot } from '#domain/media/object-keys.ts';
import { Once } from '#platform/concurrency/once.ts';
import type { ClientAddresses } from '#platform/http/client-addresses.ts';
import { ClientQueues } from '#platform/rate-limit/client-queues.ts';
import { Shares } from '#platform/rate-limit/shares.ts';
import { SharedCalls } from '#platform/concurrency/shared-calls.ts';
import type { ByteRange, Download, ObjectInfo, ObjectStore } from '#platform/storage/object-store.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import type { RecentClients } from '#platform/rate-limit/recent-clients.ts';
import { RangePace } from './range-pace.ts';
import { ReadCache } from './read-cache.ts';
import { firstPiece, type RangeRead } from './send-range.ts';
import type { CoalescedRead } from './coalesced-read.ts';
import { readWhole } from '#platform/storage/read-whole.ts';

const compress = promisify(gzip);
/** A playlist over this is read like any other object. */
const playlistBytesMax = 4 * 1024 * 1024;
/** The share of the memory that playlists have: they are small, and the rest is for segments. */
const playlistShare = 1 / 8;
/** How long a top master playlist, the only object that changes, is answered from memory. */
const freshMs = 1_000;
/** Missing objects are remembered for a moment, so that requests for them do not reach the bucket. */
const missing = { ttl: 1_000, max: 10_000 };

/** A small object in memory, and its compressed form, made when it is first requested. */
export interface Playlist {
  readonly info: ObjectInfo;
  readonly bytes: Buffer;
  /** The bytes as latin1, which every byte survives. */
  readonly text: string;
  readonly gzipped: () => Promise<Buffer>;
  /** Null until `gzipped` was called once. */
  readonly gzippedNow: Buffer | null;
  /** The compressed form is another representation and has another strong ETag (RFC 9110, section 8.8.3.3). */
  readonly gzipEtag: string;
}

interface CachedPlaylist {
  readonly playlist: Playlist;
  /** By `performance.now()`; infinite for an object that never changes. */
  readonly freshUntilMs: number;
}

/**
 * Reads of the bucket at the pace of their clients, whole objects and ranges: each needs a connection and about half a
 * megabyte. The store has as many connections and some for images (platform/storage/s3/s3-endpoint.ts).
 */
const readsMax = 576;
/**
 * Requests of one client that are made of the bucket at once and answer it alone; each costs over a millisecond. A
 * bucket that answers none would keep the last of hundreds waiting for many times its timeout.
 */
const requests = { max: 16, waitMsMax: 5_000 };

/** Who reads: the request whose client is charged. */
export type Reader = Pick<IncomingMessage, 'socket' | 'headers'>;

interface MediaReaderOptions {
  readonly clients: ClientAddresses;
  readonly recent: RecentClients;
  readonly cacheBytesMax: number;
  readonly metrics: Pick<Metrics, 'streamCacheEvents'>;
}

/**
 * Delivery's access to streams in the media bucket. Recently requested objects are in memory, and an object that
 * several clients request at once is read once. Needs no database.
 */
export class MediaReader {
  readonly #media: ObjectStore;
  readonly #events: ReturnType<typeof cacheEvents>;
  readonly #playlists: LRUCache<string, CachedPlaylist>;
  readonly #reads: ReadCache;
  readonly #playlistReads = new SharedCalls<Playlist | null>();
  readonly #heads = new SharedCalls<ObjectInfo | null>();
  /** The last request for each key that the bucket is asked for. */
  readonly #asked = new Map<string, Promise<unknown>>();
  readonly #missing = new LRUCache<string, true>(missing);
  readonly #clients: ClientAddresses;
  readonly #bucketReads = new Shares(readsMax);
  readonly #requests = new ClientQueues(requests.max, requests.waitMsMax);
  readonly #pace: RangePace;
  readonly #opening = new SharedCalls<CoalescedRead | null>();

  /** `cacheBytesMax` bounds all that is cached and shared; with 0 only the playlists under way are shared. */
  constructor(media: ObjectStore, { cacheBytesMax, metrics, clients, recent }: MediaReaderOptions) {
    this.#media = media;
    this.#clients = clients;
    this.#pace = new RangePace(recent);
    this.#events = cacheEvents(metrics);
    const playlistBytes = Math.max(1, Math.floor(cacheBytesMax * playlistShare));
    this.#playlists = new LRUCache({ maxSize: playlistBytes, maxEntrySize: Math.ceil(playlistBytes / 8) });
    this.#reads = new ReadCache(cacheBytesMax * (1 - playlistShare));
  }

  /** Drops what is in memory of deleted media, and what was missing of some that were made again. */
  forget(hashes: readonly string[]): void {
    const roots = new Set(hashes.map(videoRoot));
    const isOfThem = (key: string) => roots.has(folderOf(key, 3));
    for (const cached of [this.#playlists, this.#missing])
      for (const key of cached.keys()) if (isOfThem(key)) cached.delete(key);
    this.#reads.forget(isOfThem);
  }

  /** Null when there is no such object. */
  async head(key: string, reader: Reader): Promise<ObjectInfo | null> {
    const cached = this.cached(key);
    if (cached !== null) return cached.info;
    return this.#requests.run(this.#clients.bucketOf(reader), () =>
      this.#heads.run(key, () => this.#unlessMissing(key, () => this.#media.head(key, undefined, { attemptsMax: 1 }))),
    );
  }

  /** An object that is whole in memory, else null. */
  cached(key: string): CoalescedRead | null {
    const read = this.#reads.find(key);
    return read?.state === 'whole' ? read : null;
  }

  /**
   * The whole object, shared with others who request it. The caller must join it at once. Null when there is no object.
   *
   * @throws KnownProblem `busy` when the client has as many reads under way as it may
   */
  async open(key: string, reader: Reader): Promise<CoalescedRead | null> {
    const found = this.#reads.find(key);
    const opening = found === null ? this.#opening.get(key) : undefined;
    const isJoined = found?.state === 'reading' || opening !== undefined;
    this.#count('object', isJoined ? 'joined' : found === null ? 'miss' : 'hit');
    if (found !== null) return found;
    if (opening !== undefined) {
      if ((await opening) === null) return null;
      // Not shared where there is no memory to keep it: a slow client would delay the others.
      return this.#reads.find(key) ?? this.#begin(key, this.#share(reader));
    }
    // No client's signal ends it, since others may wait for it; the store's timeout does.
    return this.#opening.run(key, () => this.#begin(key, this.#share(reader)));
  }

  async #begin(key: string, giveBack: () => void): Promise<CoalescedRead | null> {
    let read: CoalescedRead | null = null;
    try {
      const download = await this.#unlessMissing(key, () => this.#media.download(key));
      read = download === null ? null : this.#reads.begin(key, download, giveBack);
    } finally {
      if (read === null) giveBack();
    }
    setImmediate(() => read?.endUnread());
    return read;
  }

  /** Charges a read of the bucket to its client; called when it has ended. @throws KnownProblem `busy` */
  #share(reader: Reader): () => void {
    const giveBack = this.#bucketReads.take(this.#clients.bucketOf(reader));
    if (giveBack === null) throw new KnownProblem('busy');
    return giveBack;
  }

  #count(kind: 'playlist' | 'object', result: 'hit' | 'joined' | 'miss'): void {
    this.#events[kind][result].inc();
  }

  /**
   * Requests of every kind for an object that is missing, or that the bucket fails to give, are one: whoever comes
   * meanwhile waits for what is learnt of it.
   */
  async #unlessMissing<T>(key: string, request: () => Promise<T | null>): Promise<T | null> {
    await this.#asked.get(key);
    if (this.#missing.has(key)) return null;
    const asked = request().finally(() => this.#asked.delete(key));
    this.#asked.set(key, asked);
    const found = await asked;
    if (found === null) this.#missing.set(key, true);
    return found;
  }

  /**
   * A part of the object, for one client; `signal` ends it when that client leaves. Null when there is no object.
   *
   * @throws KnownProblem `busy` when the client has as many reads under way as it may
   */
  async openRange(
    key: string,
    {
      range,
      ...options
    }: { readonly range: Required<ByteRange>; readonly ifMatch: string; readonly signal?: AbortSignal },
    reader: Reader,
  ): Promise<RangeRead | null> {
    const close = this.#share(reader);
    const client = this.#clients.bucketOf(reader);
    const next = async (part: Required<ByteRange>) => {
      const { piece, waitMs } = this.#pace.next(client, part, performance.now());
      if (waitMs > 0) await sleep(waitMs);
      return this.#requests.run(client, () => this.#media.download(key, { ...options, range: piece }));
    };
    let first: Download | null = null;
    try {
      first = await next(firstPiece(range));
      return first && { range, first, next, close };
    } finally {
      if (first === null) close();
    }
  }

  /** A playlist that can be answered without a request to the bucket. */
  cachedPlaylist(key: string): Playlist | null {
    const cached = this.#playlists.get(key);
    if (cached === undefined || cached.freshUntilMs <= performance.now()) return null;
    this.#count('playlist', 'hit');
    return cached.playlist;
  }

  /** A small object whole; null when there is none, or it is too large for one. */
  async playlist(key: string): Promise<Playlist | null> {
    const cached = this.cachedPlaylist(key);
    if (cached !== null) return cached;
    this.#count('playlist', this.#playlistReads.get(key) === undefined ? 'miss' : 'joined');
    return this.#playlistReads.run(key, () => this.#readPlaylist(key));
  }

  async #readPlaylist(key: string): Promise<Playlist | null> {
    const requestedAtMs = performance.now();
    const found = await this.#unlessMissing(key, () => this.#media.get(key, { isSmall: true, attemptsMax: 1 }));
    if (found === null) return null;
    if (found.info.sizeBytes > playlistBytesMax) {
      found.body.destroy();
      return null;
    }
    const bytes = await readWhole(found.body);
    const before = this.#playlists.get(key)?.playlist;
    // The same playlist read again keeps its compressed form.
    const playlist = before?.info.etag === found.info.etag ? before : playlistOf(found.info, bytes);
    const freshUntilMs = isBelowRevision(key) ? Infinity : requestedAtMs + freshMs;
    // Bytes, text, and the compressed form, which is made later and is never much larger.
    this.#playlists.set(key, { playlist, freshUntilMs }, { size: 3 * bytes.length + 1024 });
    return playlist;
  }
}

function cacheEvents({ streamCacheEvents }: MediaReaderOptions['metrics']) {
  const of = (kind: 'playlist' | 'object', result: 'hit' | 'joined' | 'miss') =>
    streamCacheEvents.series({ kind, result });
  const resultsOf = (kind: 'playlist' | 'object') => ({
    hit: of(kind, 'hit'),
    joined: of(kind, 'joined'),
    miss: of(kind, 'miss'),
  });
  return { playlist: resultsOf('playlist'), object: resultsOf('object') };
}

function playlistOf(info: ObjectInfo, bytes: Buffer): Playlist {
  let gzippedNow: Buffer | null = null;
  const gzipped = new Once(async () => (gzippedNow = await compress(bytes)));
  return {
    info,
    bytes,
    text: bytes.toString('latin1'),
    gzipped: () => gzipped.get(),
    get gzippedNow() {
      return gzippedNow;
    },
    gzipEtag: info.etag.replace(/"$/, '-gzip"'),
  };
}
