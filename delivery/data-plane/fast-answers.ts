import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import { readTraceContext, traceIdOf } from '#platform/telemetry/trace-context.ts';
import { type RunningSpan, startSpan } from '#platform/telemetry/tracing.ts';

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
