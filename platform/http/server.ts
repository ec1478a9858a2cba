import { createServer, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Config } from '../config/config.ts';
import type { Component } from '../lifecycle/component.ts';
import type { WindowCounter } from '../rate-limit/window-counter.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { traceIdWithoutSpan } from '../telemetry/trace-context.ts';
import { ClientAddresses } from './client-addresses.ts';
import { type ConnectionLimits, limitConnections } from './connection-limits.ts';
import { drain } from './drain.ts';
import { FastPaths } from './fast-paths.ts';
import { addHomePage } from './home-page.ts';
import { addHttpMetrics } from './http-metrics.ts';
import { addJsonBody } from './json-body.ts';
import { watchMethods } from './method-not-allowed.ts';
import { addListeners, type Listeners, sharedPlace } from './listeners.ts';
import { notFound, rawProblem, requestProblemOf, sendProblem } from './problem-response.ts';
import { RateLimiter } from './rate-limit.ts';
import { collectRoutes, type DocumentedRoute } from './route-doc.ts';
import type { ReadinessChecks } from './readiness.ts';
import { readAbsoluteForm } from './request-target.ts';
import { RequestTime } from './request-time.ts';
import { RequestTurns } from './request-turns.ts';
import { addSystemRoutes } from './system-routes.ts';
import { addTracing, traceIdOfRequest } from './tracing.ts';

/** The context that routes share beside their own dependencies. */
export interface RouteContext {
  readonly clients: ClientAddresses;
  readonly fastPaths: FastPaths;
  readonly limiter: RateLimiter;
  readonly requestTime: RequestTime;
  /** Grows while routes are added. */
  readonly documentedRoutes: readonly DocumentedRoute[];
}

export interface HttpServerOptions {
  readonly config: Pick<Config, 'host' | 'port' | 'trustedProxies'>;
  readonly windowCounter: WindowCounter;
  /** Checked by `/readyz`. */
  readonly checks: ReadinessChecks;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly clock: () => Date;
  readonly limits?: Partial<ConnectionLimits>;
  /** Adds the routes of the surfaces that this server has. */
  readonly addRoutes: (app: FastifyInstance, context: RouteContext) => Promise<void>;
}

const timeouts = {
  /** A client that has not sent the whole head of a request within this time occupies a connection for nothing. */
  headersTimeout: 10_000,
  connectionsCheckingInterval: 1_000,
  /** `RequestTime` bounds it, by the size of the body. */
  requestTimeout: 0,
  /** Longer than the usual idle timeout of load balancers (60 s), so that they never use a socket just closed. */
  keepAliveTimeout: 72_000,
};
/** Longer than any valid path; Node refuses a request head over 16 KiB anyway. */
const paramCharactersMax = 16 * 1024;

/** Builds a server with the system routes and those that `addRoutes` adds, without listening. */
export async function createHttpServer(options: HttpServerOptions): Promise<FastifyInstance> {
  const { config, metrics, log, clock } = options;
  const clients = new ClientAddresses(config.trustedProxies);
  const fastPaths = new FastPaths(clients);
  const turns = new RequestTurns();
  const requestTime = new RequestTime(answerClientError);
  const app: FastifyInstance = Fastify({
    logger: false,
    trustProxy: (address) => clients.isProxy(address),
    serverFactory: (framework) =>
      createServer(timeouts, (request, response) => {
        requestTime.watch(request);
        readAbsoluteForm(request);
        fastPaths.answer(request, response, () =>
          turns.run(clients.bucketOf(request), () => framework(request, response)),
        );
      }),
    forceCloseConnections: 'idle',
    // What arrives on a connection that is open still is answered, and `drain` closes the connection.
    return503OnClosing: false,
    routerOptions: { maxParamLength: paramCharactersMax },
    // No hook sees these.
    frameworkErrors: (error, request, reply) => void answerError(log, error, request, reply.header('api-version', '1')),
    clientErrorHandler: answerClientError,
  });
  limitConnections(app.server, clients, options.limits);
  closeIdleConnections(app);
  addTracing(app);
  addHttpMetrics(app, metrics);
  addJsonBody(app);
  addVersionHeader(app);
  app.setErrorHandler((error: FastifyError, request, reply) => answerError(log, error, request, reply));
  app.setNotFoundHandler((request, reply) => sendProblem(request, reply, notFound(request.url)));

  const limiter = new RateLimiter({
    windowCounter: options.windowCounter,
    clock,
    onFallback: (limit, error) => {
      metrics.rateLimitFallbacks.inc({ limit: limit.name });
      log.warn({ err: error, limit: limit.name }, 'rate limit store unavailable, counting in this process');
    },
  });
  const refuseOtherMethods = watchMethods(app);
  const documentedRoutes = collectRoutes(app);
  addSystemRoutes(app, options);
  await options.addRoutes(app, { limiter, documentedRoutes, clients, fastPaths, requestTime });
  await addHomePage(app);
  refuseOtherMethods();
  return app;
}

/**
 * The server as a component: it listens from `start`. When it stops it goes on answering for `drainMs` at most, while
 * clients move to other servers, and then completes the responses under way.
 */
export function httpServerComponent(options: HttpServerOptions & { readonly drainMs: number }): Component {
  let app: FastifyInstance | undefined;
  let listeners: Listeners | undefined;
  return {
    name: 'http server',
    async start() {
      app = await createHttpServer(options);
      const { host, port } = options.config;
      const place = await sharedPlace({ host, port }).catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
        throw new Error(`port ${port} of ${host} is in use: set PORT to another one, or to 0 for any`, {
          cause: error,
        });
      });
      await app.listen(place);
      listeners = await addListeners(app.server, place);
      options.log.info({ addresses: app.addresses() }, 'listening');
    },
    async stop(signal) {
      const server = app?.server;
      const giveUp = () => server?.closeAllConnections();
      signal.addEventListener('abort', giveUp, { once: true });
      if (server !== undefined && listeners !== undefined)
        await drain({ server, listeners }, { forMs: options.drainMs, signal });
      await Promise.all([app?.close(), listeners?.close()]);
      signal.removeEventListener('abort', giveUp);
    },
  };
}

function answerError(log: Logger, error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const problem = requestProblemOf(error);
  // A client that left is no failure of the service.
  if (problem.code === 'internal_error' && !request.signal.aborted)
    log.error(
      {
        err: error,
        method: request.method,
        route: request.routeOptions?.url,
        trace_id: traceIdOfRequest(request, reply),
      },
      'request failed',
    );
  return sendProblem(request, reply, problem);
}

/** Answers what Node could not parse as a request; no hook and no route has handled it. */
function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  // A client that sent nothing, such as a browser's spare connection, expects no answer.
  // Within a response that has begun, an answer would be taken for a part of its body.
  const { _httpMessage: response } = socket as { readonly _httpMessage?: ServerResponse | null };
  if (error.code === 'ECONNRESET' || !socket.writable || socket.bytesRead === 0 || response?.headersSent === true) {
    socket.destroy();
    return;
  }
  const status = statusOfClientError(error.code);
  const traceId = traceIdWithoutSpan();
  const body = rawProblem(status, traceId);
  socket.end(
    `HTTP/1.1 ${status} \r\nContent-Type: application/problem+json\r\nCache-Control: no-store\r\n` +
      `X-Trace-ID: ${traceId}\r\nAPI-Version: 1\r\n` +
      `Connection: close\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

/**
 * A response that was under way when the server began to close leaves its connection open, as its headers said. Closing
 * it here saves the keep-alive timeout.
 */
function closeIdleConnections(app: FastifyInstance): void {
  app.addHook('preClose', async () => {
    const timer = setInterval(() => app.server.closeIdleConnections(), 50);
    app.server.once('close', () => clearInterval(timer));
  });
}

/** `/api` is version 1 (docs/reference/contract.md, "Versions"). */
function addVersionHeader(app: FastifyInstance): void {
  app.addHook('onSend', async (_request, reply, payload) => {
    const contentType = String(reply.getHeader('content-type') ?? '');
    if (/^application\/(?:problem\+)?json/.test(contentType) || reply.statusCode === 304)
      reply.header('api-version', '1');
    return payload;
  });
}

function statusOfClientError(code: string | undefined): 400 | 408 | 431 {
  if (code === 'HPE_HEADER_OVERFLOW') return 431;
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
}
