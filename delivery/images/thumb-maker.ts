import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { LRUCache } from 'lru-cache';
import { isJobProblem, KnownProblem } from '#domain/errors.ts';
import { storedContentType } from '#domain/media/content-types.ts';
import { folderOf } from '#domain/media/object-keys.ts';
import {
  sourceThumbCacheKey,
  thumbCacheFolder,
  thumbCacheKey,
  type ThumbVariant,
} from '#domain/playback/thumb-variant.ts';
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

interface ThumbWork {
  readonly variant: ThumbVariant;
  readonly cacheKey: string;
  /** The version of a source; null for an object of the media bucket. */
  readonly etag: string | null;
}

const missingMessage = 'There is no image with this key. Take the key from the results of its job.';

/** Where an image came from, for `svc_image_results_total`. */
type ThumbOrigin = 'memory_hit' | 'bucket_hit' | 'processed';

interface FoundThumb {
  readonly thumb: Thumb;
  readonly origin: ThumbOrigin;
}

/** Less than the deletion of a media leaves between its request and the list of its objects. */
const storeTimeoutMs = 4_000;

/** How long a source is taken to be unchanged: one look a second at each, however many ask. */
const sourceLookMs = 1_000;
const sourceLooksMax = 10_000;

/** Images of all clients that are looked for or made at once. */
const underWayMax = 256;

interface ThumbMakerDependencies {
  readonly clients: ClientAddresses;
  readonly recent: RecentClients;
  readonly media: ObjectStore;
  /** Null where no sources are shown. */
  readonly imageSource: ObjectStore | null;
  readonly images: ImageProcessor;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** Whether a media was deleted. */
  readonly isDeleted: (hash: string) => Promise<boolean>;
}

/**
 * Makes variants of images, in three layers: memory, the media bucket (`cache/thumb/…`), processing. Concurrent
 * requests for a variant make it once. Objects below a revision never change, so nothing here expires. A source may be
 * written again or deleted at any time, so it is looked at for each request, and its images are in memory alone.
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
  readonly #sourceEtags = new LRUCache<string, Promise<string | null>>({ max: sourceLooksMax, ttl: sourceLookMs });

  constructor(dependencies: ThumbMakerDependencies) {
    this.#dependencies = dependencies;
  }

  /** @throws KnownProblem `not_found`, `invalid_request`, `unreadable_image`, `busy` */
  async get(variant: ThumbVariant, request: IncomingMessage): Promise<Thumb> {
    const etag = variant.isOfSource === true ? await this.#etagOfSource(variant.key) : null;
    const cacheKey = etag === null ? thumbCacheKey(variant) : sourceThumbCacheKey(variant, etag);
    const cached = this.cached(cacheKey);
    if (cached !== null) return cached;
    this.#dependencies.metrics.imageCacheEvents.inc({ layer: 'memory', result: 'miss' });
    const work = { variant, cacheKey, etag };
    const { thumb, origin } = await this.#once(cacheKey, request, (client) =>
      etag === null ? this.#find(work, client) : this.#make(work, client),
    );
    this.#dependencies.metrics.imageResults.inc({ result: origin });
    return thumb;
  }

  /** @throws KnownProblem `not_found` where there is no such source */
  async #etagOfSource(key: string): Promise<string> {
    let looking = this.#sourceEtags.get(key);
    if (looking === undefined) {
      const head = this.#dependencies.imageSource?.head(key, undefined, { attemptsMax: 1 });
      looking = (head ?? Promise.resolve(null)).then((info) => info?.etag ?? null);
      this.#sourceEtags.set(key, looking);
      // Whoever asks next looks again.
      looking.catch(() => this.#sourceEtags.delete(key));
    }
    const etag = await looking;
    if (etag === null) throw new KnownProblem('not_found', missingMessage);
    return etag;
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

  async #find(work: ThumbWork, client: string): Promise<FoundThumb> {
    const { cacheKey } = work;
    const stored = await this.#readStored(cacheKey);
    this.#dependencies.metrics.imageCacheEvents.inc({ layer: 'bucket', result: stored === null ? 'miss' : 'hit' });
    if (stored === null) {
      const made = await this.#make(work, client);
      void this.#store(cacheKey, made.thumb.bytes);
      return made;
    }
    const thumb = thumbOf(stored);
    this.#memory.set(cacheKey, thumb);
    return { thumb, origin: 'bucket_hit' };
  }

  async #make(work: ThumbWork, client: string): Promise<FoundThumb> {
    const thumb = thumbOf(await this.#process(work, client));
    this.#memory.set(work.cacheKey, thumb);
    return { thumb, origin: 'processed' };
  }

  async #process({ variant, etag }: ThumbWork, client: string): Promise<Buffer> {
    const { images, recent, media, imageSource } = this.#dependencies;
    let source: readonly Piece[] = [];
    const readSource = async () => {
      const found = await readImage(etag === null ? media : (imageSource ?? media), variant.key, etag);
      if (found === null) throw new KnownProblem('not_found', missingMessage);
      source = found;
      return found.map(({ bytes }) => bytes);
    };
    const hasOthers = () => recent.hasOther(client, performance.now());
    try {
      return await images.make(readSource, variant, { client, hasOthers });
    } catch (error) {
      if (isChanged(error)) this.#sourceEtags.delete(variant.key);
      throw problemOf(error);
    } finally {
      for (const piece of source) piece.release();
    }
  }

  async #readStored(cacheKey: string): Promise<Buffer | null> {
    const pieces = await readImage(this.#dependencies.media, cacheKey, null);
    if (pieces === null) return null;
    const bytes = Buffer.concat(pieces.map((piece) => piece.bytes));
    for (const piece of pieces) piece.release();
    return bytes;
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

/** An object in pieces, which the caller releases; of a source the version that was looked at. */
async function readImage(store: ObjectStore, key: string, etag: string | null): Promise<readonly Piece[] | null> {
  const download = await store.download(key, etag === null ? {} : { ifMatch: etag });
  if (download === null) return null;
  if (download.info.sizeBytes <= sourceBytesMax) return readPieces(download);
  download.destroy();
  const limit = `${sourceBytesMax / 1024 ** 2} MiB`;
  throw new KnownProblem('unreadable_image', `The object is too large for an image; it may have ${limit}.`);
}

/** Whether a source was written again since it was looked at. */
function isChanged(error: unknown): boolean {
  return isJobProblem(error) && error.code === 'source_changed';
}

/** The problem that a client is told when an image was not made. */
function problemOf(error: unknown): unknown {
  if (error instanceof ImageRefused) return new KnownProblem('unreadable_image', undefined, { cause: error });
  if (error instanceof ImagesBusy) return new KnownProblem('busy', undefined, { cause: error });
  if (isChanged(error)) return new KnownProblem('busy', undefined, { cause: error });
  if (!(error instanceof ImageOperationRefused)) return error;
  const fault = { pointer: `/${error.operation}`, code: 'invalid_value', detail: error.message };
  return new KnownProblem('invalid_request', undefined, { faults: [fault], cause: error });
}

function thumbOf(bytes: Buffer): Thumb {
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}"` };
}
