import type { IncomingMessage, ServerResponse } from 'node:http';
import { withoutQuery } from '#domain/playback/media-address.ts';
import { acceptsGzip } from '#platform/http/request-headers.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import type { CoalescedRead } from './coalesced-read.ts';
import { FastAnswers } from './fast-answers.ts';
import type { MediaReader, Playlist } from './media-reader.ts';
import { type OnSent, sendRead, sentWatch } from './send-read.ts';
import type { WriteTurns } from './write-turns.ts';

// The fast path of streams: the whole of an object, and a playlist that is in memory.

/** Parsed addresses of playlists; dropped all at once when there are more. */
const knownTargetsMax = 10_000;
/** A decision made before a read that took longer is made again: caches keep the answer. */
const slowMs = 1_000;

/** The object of an address that needs no lookup. */
export interface PlainTarget {
  readonly key: string;
  readonly isPlaylist: boolean;
  /** Names and values in turn, of the headers that do not depend on the object. */
  readonly headers: readonly string[];
  /** It holds for one request, and is not remembered. */
  readonly isPassing?: boolean;
}

interface StreamFastPathDependencies {
  readonly media: MediaReader;
  readonly writes: WriteTurns;
  readonly metrics: Metrics;
  readonly onSent: OnSent;
  /** Null for an address that is left to the framework. */
  readonly targetOf: (url: string) => PlainTarget | null;
  readonly route: string;
  /** Whether the address may no longer be answered here. */
  readonly isStale: (url: string) => boolean;
}

export class StreamFastPath {
  readonly #dependencies: StreamFastPathDependencies;
  readonly #answers: FastAnswers;
  readonly #targets = new Map<string, PlainTarget>();

  constructor(dependencies: StreamFastPathDependencies) {
    this.#dependencies = dependencies;
    this.#answers = new FastAnswers(dependencies.metrics, dependencies.route);
  }

  take(request: IncomingMessage, response: ServerResponse, passOn: (failure?: Error) => void): boolean {
    const target = this.#targetOf(withoutQuery(request.url ?? ''));
    if (target === null) return false;
    const startedAtMs = performance.now();
    if (target.isPlaylist) {
      const playlist = this.#dependencies.media.cachedPlaylist(target.key);
      const acceptEncoding = request.headers['accept-encoding'];
      const isGzip = acceptEncoding !== undefined && acceptsGzip(acceptEncoding);
      if (playlist === null || (isGzip && playlist.gzippedNow === null)) return false;
      this.#answerPlaylist(request, response, { target, playlist, isGzip, startedAtMs });
      return true;
    }
    void this.#openAndAnswer(request, response, { target, startedAtMs, passOn });
    return true;
  }

  async #openAndAnswer(
    request: IncomingMessage,
    response: ServerResponse,
    { target, startedAtMs, passOn }: OpenOptions,
  ): Promise<void> {
    const { url = '' } = request;
    let read: CoalescedRead | null = null;
    try {
      read = await this.#dependencies.media.open(target.key, request);
    } catch (error) {
      return passOn(error as Error);
    }
    if (read === null || (performance.now() - startedAtMs > slowMs && this.#dependencies.isStale(url))) passOn();
    else if (!response.destroyed) this.#answerRead(request, response, { target, startedAtMs, read });
  }

  #targetOf(url: string): PlainTarget | null {
    const known = this.#targets.get(url);
    if (known !== undefined) return known;
    const target = this.#dependencies.targetOf(url);
    // There are too many segments, and parsing is a small part of their cost.
    if (target === null || !target.isPlaylist || target.isPassing === true) return target;
    if (this.#targets.size >= knownTargetsMax) this.#targets.clear();
    this.#targets.set(url, target);
    return target;
  }

  #answerPlaylist(request: IncomingMessage, response: ServerResponse, answer: PlaylistAnswer): void {
    const { target, playlist, isGzip } = answer;
    const bytes = (isGzip ? playlist.gzippedNow : null) ?? playlist.bytes;
    const head = [...target.headers, 'x-trace-id', this.#begin(request, response, answer)];
    head.push('etag', isGzip ? playlist.gzipEtag : playlist.info.etag, 'content-length', String(bytes.length));
    if (isGzip) head.push('content-encoding', 'gzip');
    response.writeHead(200, head);
    // Text is sent together with the head; latin1 keeps every byte.
    if (isGzip) response.end(bytes);
    else response.end(playlist.text, 'latin1');
  }

  #answerRead(request: IncomingMessage, response: ServerResponse, answer: ReadAnswer): void {
    const { target, read } = answer;
    const { etag, sizeBytes } = read.info;
    const traceId = this.#begin(request, response, answer);
    const head = [...target.headers, 'x-trace-id', traceId, 'etag', etag, 'content-length', String(sizeBytes)];
    response.writeHead(200, head);
    const { media, writes } = this.#dependencies;
    sendRead(response, read, { start: 0, end: sizeBytes, media, writes });
  }

  #begin(request: IncomingMessage, response: ServerResponse, { startedAtMs }: Started): string {
    return this.#answers.begin(request, response, startedAtMs, sentWatch(this.#dependencies.onSent, request, response));
  }
}

interface Started {
  /** By `performance.now()`. */
  readonly startedAtMs: number;
}

interface OpenOptions extends Started {
  readonly target: PlainTarget;
  readonly passOn: (failure?: Error) => void;
}

interface PlaylistAnswer extends Started {
  readonly target: PlainTarget;
  readonly playlist: Playlist;
  readonly isGzip: boolean;
}

interface ReadAnswer extends Started {
  readonly target: PlainTarget;
  readonly read: CoalescedRead;
}
