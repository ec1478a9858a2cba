import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import { readTraceContext, traceIdOf } from '#platform/telemetry/trace-context.ts';
import { type RunningSpan, startSpan } from '#platform/telemetry/tracing.ts';
import { acceptsGzip } from '#platform/http/request-headers.ts';
import type { MediaReader, Playlist } from './media-reader.ts';
import { sendRead } from './send-read.ts';
import type { CoalescedRead } from './coalesced-read.ts';

// Most requests of players are for the whole of an object that exists. The framework costs more than such a response
// (docs/decisions/0050), so these requests are answered before it sees them, with the same headers, metrics and trace.
// All other requests, and those that fail, go to the framework.

const route = '/stream/{hash}/*';
/** A plain GET has none of these. */
const unplainHeaders = ['range', 'if-none-match', 'if-range', 'content-length', 'transfer-encoding'] as const;
/** Parsed addresses of playlists; dropped all at once when there are more. */
const knownTargetsMax = 10_000;

/** The object of an address that needs no lookup. */
export interface PlainTarget {
  readonly key: string;
  readonly isPlaylist: boolean;
  /** Names and values in turn, of the headers that do not depend on the object. */
  readonly headers: readonly string[];
}

interface FastPathDependencies {
  readonly media: MediaReader;
  readonly metrics: Metrics;
  /** Null for an address that is left to the framework. */
  readonly targetOf: (url: string) => PlainTarget | null;
}

/** Why the fast path did not answer a request that it has sent to the bucket; the framework sends no second one. */
const failures = new WeakMap<IncomingMessage, Error>();

/** @throws Error when the fast path failed to open the object of `request` */
export function throwFastPathFailure(request: IncomingMessage): void {
  const failure = failures.get(request);
  if (failure !== undefined) throw failure;
}

/** Puts the fast path before the framework, until the server begins to close. */
export function addStreamFastPath(app: FastifyInstance, dependencies: FastPathDependencies): void {
  const handlers = app.server.listeners('request') as ((request: IncomingMessage, response: ServerResponse) => void)[];
  const fastPath = new StreamFastPath(dependencies);
  const passOn = (request: IncomingMessage, response: ServerResponse) => {
    for (const handler of handlers) handler.call(app.server, request, response);
  };
  app.server.removeAllListeners('request');
  app.server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (!fastPath.take(request, response, () => passOn(request, response))) passOn(request, response);
  });
  // The framework sends `connection: close` while the server closes.
  app.addHook('preClose', async () => fastPath.close());
}

class StreamFastPath {
  readonly #dependencies: FastPathDependencies;
  readonly #targets = new Map<string, PlainTarget>();
  #isClosed = false;

  constructor(dependencies: FastPathDependencies) {
    this.#dependencies = dependencies;
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Whether the request is answered here; `passOn` is called when that turns out to be impossible later. */
  take(request: IncomingMessage, response: ServerResponse, passOn: () => void): boolean {
    if (this.#isClosed || request.method !== 'GET') return false;
    const target = this.#targetOf(request.url ?? '');
    if (target === null || unplainHeaders.some((name) => name in request.headers)) return false;
    const startedAtMs = performance.now();
    if (target.isPlaylist) {
      const playlist = this.#dependencies.media.keptPlaylist(target.key);
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
    let read: CoalescedRead | null = null;
    try {
      read = await this.#dependencies.media.open(target.key);
    } catch (error) {
      failures.set(request, error as Error);
    }
    if (read === null) passOn();
    else if (!response.destroyed) this.#answerRead(request, response, { target, startedAtMs, read });
  }

  #targetOf(url: string): PlainTarget | null {
    const known = this.#targets.get(url);
    if (known !== undefined) return known;
    const target = this.#dependencies.targetOf(url);
    // There are too many segments, and parsing is a small part of their cost.
    if (target === null || !target.isPlaylist) return target;
    if (this.#targets.size >= knownTargetsMax) this.#targets.clear();
    this.#targets.set(url, target);
    return target;
  }

  #answerPlaylist(request: IncomingMessage, response: ServerResponse, answer: PlaylistAnswer): void {
    const { target, playlist, isGzip, startedAtMs } = answer;
    const bytes = (isGzip ? playlist.gzippedNow : null) ?? playlist.bytes;
    const head = [...target.headers, 'x-trace-id', this.#begin(request, response, startedAtMs)];
    head.push('etag', isGzip ? playlist.gzipEtag : playlist.info.etag, 'content-length', String(bytes.length));
    if (isGzip) head.push('content-encoding', 'gzip');
    response.writeHead(200, head);
    // Text is sent together with the head; latin1 keeps every byte.
    if (isGzip) response.end(bytes);
    else response.end(playlist.text, 'latin1');
  }

  #answerRead(request: IncomingMessage, response: ServerResponse, answer: ReadAnswer): void {
    const { target, read, startedAtMs } = answer;
    const { etag, sizeBytes } = read.info;
    const traceId = this.#begin(request, response, startedAtMs);
    const head = [...target.headers, 'x-trace-id', traceId, 'etag', etag, 'content-length', String(sizeBytes)];
    response.writeHead(200, head);
    sendRead(response, read, { start: 0, end: sizeBytes, media: this.#dependencies.media });
  }

  /** Begins the trace; gives its id. */
  #begin(request: IncomingMessage, response: ServerResponse, startedAtMs: number): string {
    const { traceparent, tracestate } = request.headers;
    const parent = traceparent === undefined ? null : readTraceContext(traceparent, tracestate);
    const attributes = { 'http.request.method': 'GET', 'http.route': route };
    const span = startSpan(`GET ${route}`, { parent, kind: 'server', attributes });
    // Also when the client leaves before the end.
    response.once('close', () => this.#onSent(span, startedAtMs));
    return traceIdOf(span.trace);
  }

  #onSent(span: RunningSpan, startedAtMs: number): void {
    const labels = { method: 'GET', route, status: '200' };
    this.#dependencies.metrics.httpRequests.inc(labels);
    this.#dependencies.metrics.httpDuration.observe(labels, (performance.now() - startedAtMs) / 1000);
    span.setAttributes({ 'http.response.status_code': 200 });
    span.end();
  }
}

interface OpenOptions {
  readonly target: PlainTarget;
  readonly startedAtMs: number;
  readonly passOn: () => void;
}

interface PlaylistAnswer {
  readonly target: PlainTarget;
  readonly playlist: Playlist;
  readonly isGzip: boolean;
  readonly startedAtMs: number;
}

interface ReadAnswer {
  readonly target: PlainTarget;
  readonly read: CoalescedRead;
  readonly startedAtMs: number;
}
