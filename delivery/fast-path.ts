import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import { readTraceContext, traceIdOf } from '#platform/telemetry/trace-context.ts';
import { type RunningSpan, startSpan } from '#platform/telemetry/tracing.ts';
import { acceptsGzip } from '#platform/http/request-headers.ts';
import type { MediaReader, Playlist } from './media-reader.ts';
import { sendRead } from './send-read.ts';
import type { CoalescedRead } from './coalesced-read.ts';

// Most of what players ask is one thing: the whole of an object that exists. The framework's way to an answer costs more
// than the answer then (docs/decisions/0050), so those requests are answered before it sees them, with the same headers,
// metrics and trace. Whatever is not that plain, or does not succeed, is the framework's.

const route = '/stream/{hash}/*';
/** A plain GET has none of these. */
const unplainHeaders = ['range', 'if-none-match', 'if-range', 'content-length', 'transfer-encoding'] as const;
/** Targets by address, so that a playlist's is not read again and again; forgotten all at once. */
const knownTargetsMax = 10_000;

/** What an address means, when it can be told from the address alone. */
export interface PlainTarget {
  readonly key: string;
  readonly isPlaylist: boolean;
  /** Names and values in turn: all that do not depend on the object. */
  readonly headers: readonly string[];
}

interface ShortcutDependencies {
  readonly media: MediaReader;
  readonly metrics: Metrics;
  /** Null for an address that the shortcut leaves alone. */
  readonly targetOf: (url: string) => PlainTarget | null;
}

/** Puts the shortcut before the framework, until the server begins to close. */
export function addStreamFastPath(app: FastifyInstance, d: ShortcutDependencies): void {
  const handlers = app.server.listeners('request') as ((request: IncomingMessage, response: ServerResponse) => void)[];
  const shortcut = new StreamFastPath(d);
  const goOn = (request: IncomingMessage, response: ServerResponse) => {
    for (const handler of handlers) handler.call(app.server, request, response);
  };
  app.server.removeAllListeners('request');
  app.server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (!shortcut.take(request, response, () => goOn(request, response))) goOn(request, response);
  });
  // The framework tells connections that the server closes.
  app.addHook('preClose', async () => shortcut.close());
}

class StreamFastPath {
  readonly #d: ShortcutDependencies;
  readonly #targets = new Map<string, PlainTarget>();
  #isClosed = false;

  constructor(d: ShortcutDependencies) {
    this.#d = d;
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Whether the request is answered here; `goOn` is called when that turns out to be impossible later. */
  take(request: IncomingMessage, response: ServerResponse, goOn: () => void): boolean {
    if (this.#isClosed || request.method !== 'GET') return false;
    const target = this.#targetOf(request.url ?? '');
    if (target === null || unplainHeaders.some((name) => name in request.headers)) return false;
    const startedAtMs = performance.now();
    if (target.isPlaylist) {
      const playlist = this.#d.media.keptPlaylist(target.key);
      const acceptEncoding = request.headers['accept-encoding'];
      const isGzip = acceptEncoding !== undefined && acceptsGzip(acceptEncoding);
      if (playlist === null || (isGzip && playlist.gzippedNow === null)) return false;
      this.#answerPlaylist(request, response, { target, playlist, isGzip, startedAtMs });
      return true;
    }
    void this.#openAndAnswer(request, response, { target, startedAtMs, goOn });
    return true;
  }

  async #openAndAnswer(
    request: IncomingMessage,
    response: ServerResponse,
    o: { readonly target: PlainTarget; readonly startedAtMs: number; readonly goOn: () => void },
  ): Promise<void> {
    let read: CoalescedRead | null = null;
    try {
      read = await this.#d.media.open(o.target.key);
    } catch {
      // The framework asks once more, and says what is wrong.
    }
    if (read === null) o.goOn();
    else if (!response.destroyed) this.#answerRead(request, response, { ...o, read });
  }

  #targetOf(url: string): PlainTarget | null {
    const known = this.#targets.get(url);
    if (known !== undefined) return known;
    const target = this.#d.targetOf(url);
    // Segments are too many, and cost more than their address.
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
    // As text it is sent with the head in one piece; latin1 leaves every byte as it is.
    if (isGzip) response.end(bytes);
    else response.end(playlist.text, 'latin1');
  }

  #answerRead(request: IncomingMessage, response: ServerResponse, answer: ReadAnswer): void {
    const { target, read, startedAtMs } = answer;
    const { etag, sizeBytes } = read.info;
    const traceId = this.#begin(request, response, startedAtMs);
    const head = [...target.headers, 'x-trace-id', traceId, 'etag', etag, 'content-length', String(sizeBytes)];
    response.writeHead(200, head);
    sendRead(response, read, { start: 0, end: sizeBytes, media: this.#d.media });
  }

  /** Begins the trace; gives its id. */
  #begin(request: IncomingMessage, response: ServerResponse, startedAtMs: number): string {
    const { traceparent, tracestate } = request.headers;
    const parent = traceparent === undefined ? null : readTraceContext(single(traceparent), single(tracestate));
    const attributes = { 'http.request.method': 'GET', 'http.route': route };
    const span = startSpan(`GET ${route}`, { parent, kind: 'server', attributes });
    // Also when the client goes before the end.
    response.once('close', () => this.#onSent(span, startedAtMs));
    return traceIdOf(span.trace);
  }

  #onSent(span: RunningSpan, startedAtMs: number): void {
    const labels = { method: 'GET', route, status: '200' };
    this.#d.metrics.httpRequests.inc(labels);
    this.#d.metrics.httpDuration.observe(labels, (performance.now() - startedAtMs) / 1000);
    span.setAttributes({ 'http.response.status_code': 200 });
    span.end();
  }
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

function single(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined;
}
