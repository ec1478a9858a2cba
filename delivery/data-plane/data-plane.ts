import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ClientAddresses } from '#platform/http/client-addresses.ts';
import type { FastPath, FastPaths } from '#platform/http/fast-paths.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import type { ThumbMaker } from '../images/thumb-maker.ts';
import type { PlaybackFigures } from '../playback/playback-figures.ts';
import type { DeliveredBytes } from '../delivered-bytes.ts';
import type { StreamQuota } from '../stream-quota.ts';
import type { KeyAccess, KeyDecision } from '../keys/key-access.ts';
import type { CoalescedRead } from './coalesced-read.ts';
import { KeyFastPath } from './key-fast-path.ts';
import { MediaReader, type Playlist } from './media-reader.ts';
import { type OnSent, sendRead, sentWatch } from './send-read.ts';
import { type RangeRead, sendRange } from './send-range.ts';
import { type PlainTarget, StreamFastPath } from './stream-fast-path.ts';
import { ThumbFastPath } from './thumb-fast-path.ts';
import { WriteTurns } from './write-turns.ts';

export type { CoalescedRead, MediaReader, PlainTarget, Playlist };

/**
 * A turn of the event loop copies for about two milliseconds, and for eight as it reads; for ranges half of one. Each
 * write of a range leads to a read, which costs more.
 */
const turns = {
  shared: { turnBytes: 8 * 1024 * 1024, freshBytes: 32 * 1024 * 1024 },
  range: { turnBytes: 2 * 1024 * 1024 },
} as const;

interface DataPlaneOptions {
  readonly store: ObjectStore;
  readonly metrics: Metrics;
  readonly fastPaths: FastPaths;
  readonly clients: ClientAddresses;
  /** Whether an address may not be answered here, since its media was deleted or is signed. */
  readonly isBarred: (url: string) => boolean;
  /** Bounds all that is cached and shared. */
  readonly cacheBytesMax: number;
  /** Null: what players say of their state is not read. */
  readonly figures?: PlaybackFigures | null;
  /** Null: the bytes of media are not told apart. */
  readonly delivered?: Pick<DeliveredBytes, 'count'> | null;
  /** Null: a client gets as many bytes as it asks for. */
  readonly quota?: StreamQuota | null;
}

/**
 * The part of delivery that is built for speed (README.md of this folder), behind one interface: routes read and send
 * through it, and register what it may answer before the framework. Each server has one, with all its state.
 */
export class DataPlane {
  readonly media: MediaReader;
  readonly #options: DataPlaneOptions;
  readonly #writes = new WriteTurns(turns.shared);
  readonly #rangeWrites = new WriteTurns(turns.range);

  constructor(options: DataPlaneOptions) {
    const { store, fastPaths, ...rest } = options;
    this.#options = options;
    this.media = new MediaReader(store, { ...rest, recent: fastPaths.recent });
  }

  /** Answers whole objects and cached playlists before the framework, where `targetOf` gives their object. */
  answerStreams(targetOf: (url: string) => PlainTarget | null, route = '/stream/{hash}/*'): void {
    const { metrics, isBarred, quota } = this.#options;
    const isStale = (url: string) => isBarred(url) || targetOf(url) === null;
    const [media, writes, onSent] = [this.media, this.#writes, this.#onSent];
    const fastPath = new StreamFastPath({ media, writes, metrics, onSent, targetOf, route, isStale });
    this.#add(
      route.slice(0, route.indexOf('{')),
      (request, response, passOn) => quota?.isSpent(request) !== true && fastPath.take(request, response, passOn),
    );
  }

  /** Answers cached content keys before the framework. */
  answerKeys(access: KeyAccess): void {
    const { metrics } = this.#options;
    const fastPath = new KeyFastPath({ access, metrics });
    this.#add(fastPath.prefix, (request, response, passOn) => fastPath.take(request, response, passOn));
  }

  /** Answers images in memory before the framework; the routes report valid addresses to what it returns. */
  answerThumbs(thumbs: ThumbMaker, clock: () => Date): ThumbFastPath {
    const { metrics } = this.#options;
    const fastPath = new ThumbFastPath({ thumbs, metrics, clock });
    this.#add('/thumb/', (request, response) => fastPath.take(request, response));
    return fastPath;
  }

  /** The framework answers for media that are barred. */
  #add(prefix: string, take: FastPath): void {
    const { fastPaths, isBarred } = this.#options;
    fastPaths.add(
      prefix,
      (request, response, passOn) => !isBarred(request.url ?? '') && take(request, response, passOn),
    );
  }

  /**
   * Sends `start` to before `end` of a read as the body of a response whose head was written, past the framework's
   * streams.
   */
  send(response: ServerResponse, read: CoalescedRead, part: { readonly start: number; readonly end: number }): void {
    sendRead(response, read, { ...part, media: this.media, writes: this.#writes });
  }

  /** Sends a range that is not in memory as the body of a response whose head was written. */
  sendRange(response: ServerResponse, read: RangeRead): void {
    void sendRange(response, read, this.#rangeWrites);
  }

  /**
   * Counts the bytes of a stream that are written for a response, and what its player says, when it ends or its client
   * leaves.
   *
   * @throws KnownProblem `rate_limited` when the client has had its bytes
   */
  countBytes(request: IncomingMessage, response: ServerResponse): void {
    this.#options.quota?.assertLeft(request);
    response.once('close', sentWatch(this.#onSent, request, response));
  }

  readonly #onSent: OnSent = (request, response, bytes) => {
    const { metrics, figures, quota, delivered } = this.#options;
    metrics.streamBytes.inc(bytes);
    delivered?.count(request, response, bytes);
    quota?.count(request, bytes);
    figures?.note(request, response);
  };

  /** @throws Error with which the fast path failed, so that the bucket or the database is not asked twice */
  throwFailure(request: IncomingMessage): void {
    const learnt = this.#options.fastPaths.learnt(request);
    if (learnt instanceof Error) throw learnt;
  }

  /** The decision of the fast path of keys about a request that it passed on, which is counted by then. */
  decisionOf(request: IncomingMessage): KeyDecision | undefined {
    this.throwFailure(request);
    return this.#options.fastPaths.learnt(request) as KeyDecision | undefined;
  }
}
