import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import { readTraceContext, traceIdOf } from '#platform/telemetry/trace-context.ts';
import { type RunningSpan, startSpan } from '#platform/telemetry/tracing.ts';

// Most requests of players are for something that is at hand. The framework costs more than such a response
// (docs/decisions/0050, 0132), so these requests are answered before it sees them, with the same headers, metrics and
// trace. All other requests, and those that fail, go to the framework.

/** A plain GET has none of these. */
const unplainHeaders = ['range', 'if-none-match', 'if-range', 'content-length', 'transfer-encoding'] as const;

/**
 * Whether the GET is answered here. `passOn` hands it to the framework, when that turns out to be necessary later.
 */
type Take = (request: IncomingMessage, response: ServerResponse, passOn: () => void) => boolean;
type Listener = (request: IncomingMessage, response: ServerResponse) => void;

interface FastPath {
  readonly prefix: string;
  readonly take: Take;
}

/** What stands before the framework of a server, by the beginnings of addresses. */
const fastPaths = new WeakMap<FastifyInstance['server'], FastPath[]>();

/** Puts the fast path of the addresses that begin with `prefix` before the framework, until the server begins to close. */
export function addFastPath(app: FastifyInstance, prefix: string, take: Take): void {
  const paths = fastPaths.get(app.server) ?? listenBeforeFramework(app);
  paths.push({ prefix, take });
}

function listenBeforeFramework(app: FastifyInstance): FastPath[] {
  const handlers = app.server.listeners('request') as Listener[];
  const paths: FastPath[] = [];
  fastPaths.set(app.server, paths);
  app.server.removeAllListeners('request');
  app.server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { method, url = '', headers } = request;
    const passOn = () => {
      for (const handler of handlers) handler.call(app.server, request, response);
    };
    const path = method === 'GET' ? paths.find(({ prefix }) => url.startsWith(prefix)) : undefined;
    const isPlain = path !== undefined && !unplainHeaders.some((name) => name in headers);
    if (!isPlain || !path.take(request, response, passOn)) passOn();
  });
  // The framework sends `connection: close` while the server closes.
  app.addHook('preClose', async () => void paths.splice(0));
  return paths;
}

/** Trace and metrics of the requests of one route that are answered with 200 before the framework. */
export class FastAnswers {
  readonly #metrics: Metrics;
  readonly #route: string;

  constructor(metrics: Metrics, route: string) {
    this.#metrics = metrics;
    this.#route = route;
  }

  /** Begins the trace; gives its id. `startedAtMs` is by `performance.now()`. */
  begin(request: IncomingMessage, response: ServerResponse, startedAtMs: number): string {
    const { traceparent, tracestate } = request.headers;
    const parent = traceparent === undefined ? null : readTraceContext(traceparent, tracestate);
    const attributes = { 'http.request.method': 'GET', 'http.route': this.#route };
    const span = startSpan(`GET ${this.#route}`, { parent, kind: 'server', attributes });
    // Also when the client leaves before the end.
    response.once('close', () => this.#onSent(span, startedAtMs));
    return traceIdOf(span.trace);
  }

  #onSent(span: RunningSpan, startedAtMs: number): void {
    const labels = { method: 'GET', route: this.#route, status: '200' };
    this.#metrics.httpRequests.inc(labels);
    this.#metrics.httpDuration.observe(labels, (performance.now() - startedAtMs) / 1000);
    span.setAttributes({ 'http.response.status_code': 200 });
    span.end();
  }
}
