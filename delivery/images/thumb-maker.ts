import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { LRUCache } from 'lru-cache';
import { isJobProblem, KnownProblem } from '#domain/errors.ts';
import { storedContentType } from '#domain/media/content-types.ts';
import { folderOf } from '#domain/media/object-keys.ts';
import { thumbCacheFolder, thumbCacheKey, type ThumbVariant } from '#domain/playback/thumb-variant.ts';
import { SharedCalls } from '#platform/concurrency/shared-calls.ts';
import type { ClientAddresses } from '#platform/http/client-addresses.ts';
import {
  ImageOperationRefused,
  ImageRefused,
  ImagesBusy,
  type ImageProcessor,
} from '#platform/images/image-processor.ts';
import type { RecentClients } from '#platform/rate-limit/recent-clients.ts';
import { Shares } from '#platform/rate-limit/shares.ts';
import type { Piece } from '#platform/storage/blocks.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { readPieces } from '#platform/storage/read-pieces.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';

const memoryBytesMax = 128 * 1024 * 1024;
/** Thumbnails, covers and previews have a few megabytes; a larger source is refused. */
const sourceBytesMax = 64 * 1024 * 1024;

export interface Thumb {
  readonly bytes: Buffer;
  readonly etag: string;
}

/** Where an image came from, for `svc_image_results_total`. */
type ThumbOrigin = 'memory_hit' | 'bucket_hit' | 'processed';

interface FoundThumb {
  readonly thumb: Thumb;
  readonly origin: ThumbOrigin;
}

/** Less than the deletion of a media leaves between its request and the list of its objects. */
const storeTimeoutMs = 4_000;

/** Images of all clients that are looked for or made at once. */
const underWayMax = 256;

interface ThumbMakerDependencies {
  readonly clients: ClientAddresses;
  readonly recent: RecentClients;
  readonly media: ObjectStore;
  readonly images: ImageProcessor;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** Whether a media was deleted. */
  readonly isDeleted: (hash: string) => Promise<boolean>;
}

/**
 * Makes variants of images, in three layers: memory, the media bucket (`cache/thumb/…`), processing. Concurrent
 * requests for a variant make it once. Objects below a revision never change, so nothing here expires.
 */
export class ThumbMaker {
  readonly #dependencies: ThumbMakerDependencies;
  readonly #memory = new LRUCache<string, Thumb>({
    maxSize: memoryBytesMax,
    maxEntrySize: memoryBytesMax / 8,
    sizeCalculation: ({ bytes }) => Math.max(1, bytes.length),
  });
  readonly #shares = new Shares(underWayMax);
  readonly #underWay = new SharedCalls<FoundThumb>();

  constructor(dependencies: ThumbMakerDependencies) {
    this.#dependencies = dependencies;
  }

  /** @throws KnownProblem `not_found`, `invalid_request`, `unreadable_image`, `busy` */
  async get(variant: ThumbVariant, request: IncomingMessage): Promise<Thumb> {
    const cacheKey = thumbCacheKey(variant);
    const cached = this.cached(cacheKey);
    if (cached !== null) return cached;
    this.#dependencies.metrics.imageCacheEvents.inc({ layer: 'memory', result: 'miss' });
    const { thumb, origin } = await this.#once(cacheKey, request, (client) => this.#find(variant, cacheKey, client));
    this.#dependencies.metrics.imageResults.inc({ result: origin });
    return thumb;
  }

  /** Drops the images of deleted media from memory. */
  forget(hashes: readonly string[]): void {
    const folders = new Set(hashes.map(thumbCacheFolder));
    for (const key of this.#memory.keys()) if (folders.has(`${folderOf(key, 4)}/`)) this.#memory.delete(key);
  }

  /** The variant of this cache key when it is in memory, counted as a hit. */
  cached(cacheKey: string): Thumb | null {
    const cached = this.#memory.get(cacheKey);
    if (cached === undefined) return null;
    this.#dependencies.metrics.imageCacheEvents.inc({ layer: 'memory', result: 'hit' });
    this.#dependencies.metrics.imageResults.inc({ result: 'memory_hit' });
    return cached;
  }

  /** @throws KnownProblem `busy` when the client has as many images under way as it may */
  #once(cacheKey: string, request: IncomingMessage, work: (client: string) => Promise<FoundThumb>) {
    return this.#underWay.run(cacheKey, () => {
      const client = this.#dependencies.clients.bucketOf(request);
      const giveBack = this.#shares.take(client);
      if (giveBack === null) throw new KnownProblem('busy');
      return work(client).finally(giveBack);
    });
  }

  async #find(variant: ThumbVariant, cacheKey: string, client: string): Promise<FoundThumb> {
    const stored = await this.#readStored(cacheKey);
    this.#dependencies.metrics.imageCacheEvents.inc({ layer: 'bucket', result: stored === null ? 'miss' : 'hit' });
    const thumb = thumbOf(stored ?? (await this.#process(variant, client)));
    this.#memory.set(cacheKey, thumb);
    if (stored === null) void this.#store(cacheKey, thumb.bytes);
    return { thumb, origin: stored === null ? 'processed' : 'bucket_hit' };
  }

  async #process(variant: ThumbVariant, client: string): Promise<Buffer> {
    const { images, recent } = this.#dependencies;
    let source: readonly Piece[] = [];
    const readSource = async () => {
      const found = await this.#read(variant.key);
      if (found === null) throw new KnownProblem('not_found', 'The object that encoded_key names does not exist.');
      source = found;
      return found.map(({ bytes }) => bytes);
    };
    const hasOthers = () => recent.hasOther(client, performance.now());
    try {
      return await images.make(readSource, variant, { client, hasOthers });
    } catch (error) {
      throw problemOf(error);
    } finally {
      for (const piece of source) piece.release();
    }
  }

  async #readStored(cacheKey: string): Promise<Buffer | null> {
    const pieces = await this.#read(cacheKey);
    if (pieces === null) return null;
    const bytes = Buffer.concat(pieces.map((piece) => piece.bytes));
    for (const piece of pieces) piece.release();
    return bytes;
  }

  /** An object in pieces, which the caller releases. */
  async #read(key: string): Promise<readonly Piece[] | null> {
    const download = await this.#dependencies.media.download(key);
    if (download === null) return null;
    if (download.info.sizeBytes <= sourceBytesMax) return readPieces(download);
    download.destroy();
    throw new KnownProblem('unreadable_image', 'The object is too large for an image.');
  }

  /**
   * The response does not wait for this; if it fails, the variant is made again after a restart. An image that was
   * begun before its media was deleted is not stored after it.
   */
  async #store(cacheKey: string, bytes: Buffer): Promise<void> {
    const { media, isDeleted } = this.#dependencies;
    try {
      if (await isDeleted(cacheKey.split('/').at(-2) ?? '')) return;
      const signal = AbortSignal.timeout(storeTimeoutMs);
      await media.put(cacheKey, bytes, { contentType: storedContentType(cacheKey), signal });
    } catch (error) {
      const status = isJobProblem(error) ? error.code : 'internal';
      this.#dependencies.metrics.imageErrors.inc({ stage: 'store', status });
      this.#dependencies.log.warn({ err: error }, 'thumbnail cache write failed');
    }
  }
}

/** What a client is told of an image that was not made. */
function problemOf(error: unknown): unknown {
  if (error instanceof ImageRefused) return new KnownProblem('unreadable_image', undefined, { cause: error });
  if (error instanceof ImagesBusy) return new KnownProblem('busy', undefined, { cause: error });
  if (!(error instanceof ImageOperationRefused)) return error;
  const fault = { pointer: `/${error.operation}`, code: 'invalid_value', detail: error.message };
  return new KnownProblem('invalid_request', undefined, { faults: [fault], cause: error });
}

function thumbOf(bytes: Buffer): Thumb {
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}"` };
}
