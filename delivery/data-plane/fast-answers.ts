import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import { readTraceContext, traceIdOf, traceIdWithoutSpan } from '#platform/telemetry/trace-context.ts';
import { areSpansExported, type RunningSpan, startSpan } from '#platform/telemetry/tracing.ts';

/** Trace and metrics of the requests of one route that are answered with 200 before the framework. */
export class FastAnswers {
  readonly #route: string;
  readonly #requests: ReturnType<Metrics['httpRequests']['series']>;
  readonly #durations: ReturnType<Metrics['httpDuration']['series']>;

  constructor(metrics: Metrics, route: string) {
    const labels = { method: 'GET', route, status: '200' };
    this.#route = route;
    this.#requests = metrics.httpRequests.series(labels);
    this.#durations = metrics.httpDuration.series(labels);
  }

  /**
   * Begins the trace; gives its id. `startedAtMs` is by `performance.now()`. `onEnd` is called when the response ends
   * or its client leaves.
   */
  begin(request: IncomingMessage, response: ServerResponse, startedAtMs: number, onEnd?: () => void): string {
    const span = areSpansExported() ? this.#startSpan(request) : null;
    // One listener for all: each costs as much as a counter. `close` is emitted once.
    response.on('close', () => {
      onEnd?.();
      this.#requests.inc();
      this.#durations.observe((performance.now() - startedAtMs) / 1000);
      span?.setAttributes({ 'http.response.status_code': 200 });
      span?.end();
    });
    return span === null ? traceIdWithoutSpan(request.headers['traceparent']) : traceIdOf(span.trace);
  }

  #startSpan({ headers: { traceparent, tracestate } }: IncomingMessage): RunningSpan {
    const parent = readTraceContext(traceparent, tracestate);
    const attributes = { 'http.request.method': 'GET', 'http.route': this.#route };
    return startSpan(`GET ${this.#route}`, { parent, kind: 'server', attributes });
  }
}
