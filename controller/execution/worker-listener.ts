import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Component } from '#platform/lifecycle/component.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import { traceIdWithoutSpan } from '#platform/telemetry/trace-context.ts';

interface ListenerOptions {
  readonly host: string;
  /** `WORKER_METRICS_PORT`, not 0. */
  readonly port: number;
  readonly metrics: Pick<Metrics, 'registry'>;
  /** With the `kubernetes` executor: what runner pods send, by the beginning of the path, such as `/reports/`. */
  readonly fromRunners?: Readonly<Record<string, RequestHandler>>;
  /** Rejects until the database is reached and migrated, and while it does not answer. */
  readonly checkDatabase?: (signal: AbortSignal) => Promise<void>;
}

const readinessTimeoutMs = 2_000;

type RequestHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/**
 * The worker's own small listener: `/healthz` and `/metrics` (C25.6). It reports on this process alone, so that a
 * worker is not restarted because a database is away.
 */
export function workerListenerComponent(options: ListenerOptions): Component {
  const { host, port, fromRunners = {} } = options;
  const server = createServer((request, response) => {
    response.setHeader('x-trace-id', traceIdWithoutSpan(request.headers['traceparent']));
    const [, handler] = Object.entries(fromRunners).find(([path]) => request.url?.startsWith(path)) ?? [];
    const answered = handler === undefined ? answer(request, response, options) : handler(request, response);
    answered.catch(() => response.destroy());
  });
  server.requestTimeout = 10_000;
  return {
    name: 'worker listener',
    async start() {
      server.listen(port, host);
      await once(server, 'listening');
    },
    async stop() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { metrics: { registry }, checkDatabase }: ListenerOptions,
): Promise<void> {
  const path = request.url?.split('?')[0];
  if (request.method !== 'GET' && request.method !== 'HEAD') return plain(response, 405, 'method not allowed');
  if (path === '/healthz') return plain(response, 200, 'OK');
  if (path === '/readyz/database' && checkDatabase !== undefined) {
    const failure = await checkDatabase(AbortSignal.timeout(readinessTimeoutMs)).catch((error: unknown) => ({ error }));
    return failure === undefined ? plain(response, 200, 'OK') : plain(response, 503, 'not ready: database');
  }
  if (path !== '/metrics') return plain(response, 404, 'not found');
  const text = await registry.metrics();
  response.writeHead(200, { 'content-type': registry.contentType, 'cache-control': 'no-store' }).end(text);
}

function plain(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }).end(body);
}
