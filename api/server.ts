import type { Socket } from 'node:net';
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { KnownProblem } from '#domain/errors.ts';
import type { Part } from '#platform/lifecycle/part.ts';
import { CallbackStore } from '#platform/postgres/callback-store.ts';
import { JobQueries } from '#platform/postgres/job-queries.ts';
import type { ApiDependencies, DeliveryDependencies } from './dependencies.ts';
import { apiGuards } from './hooks/guards.ts';
import { addHttpMetrics } from './hooks/http-metrics.ts';
import { addJsonBody } from './hooks/json-body.ts';
import { watchMethods } from './hooks/method-not-allowed.ts';
import { RateLimiter } from './hooks/rate-limit.ts';
import { addTracing } from './hooks/tracing.ts';
import { JobWatcher } from './job-watcher.ts';
import { MediaReader } from './media-reader.ts';
import { collectRoutes } from './openapi/route-doc.ts';
import { rawProblem, requestProblemOf, sendProblem } from './problem-response.ts';
import { addCallbackRoutes } from './routes/callbacks.ts';
import { addDocsRoutes } from './routes/docs.ts';
import { addJobEventRoutes } from './routes/job-events.ts';
import { addJobRoutes } from './routes/jobs.ts';
import { addKeyRoutes } from './routes/key.ts';
import { addPlayerRoutes } from './routes/player.ts';
import { addStreamRoutes } from './routes/stream.ts';
import { addSystemRoutes } from './routes/system.ts';
import { addThumbRoutes } from './routes/thumb.ts';
import { ThumbMaker } from './thumb-maker.ts';

export type { ApiDependencies, DeliveryDependencies } from './dependencies.ts';

/** A request must be whole within this: a caller that sends its body by the byte holds no socket for longer. */
const requestTimeoutMs = 60_000;
/** Longer than the idle timeout of usual load balancers (60 s), so that they never write into a socket just closed. */
const keepAliveTimeoutMs = 72_000;
/** Over the longest path that any rule speaks of; Node refuses a request head over 16 KiB anyway. */
const paramCharactersMax = 16 * 1024;

/** Builds the HTTP surfaces that `config.surfaces` names, without listening. `api` needs what takes jobs in. */
export async function createServer(d: ApiDependencies | DeliveryDependencies): Promise<FastifyInstance> {
  const app: FastifyInstance = Fastify({
    logger: false,
    trustProxy: d.config.trustedProxies.length > 0 ? [...d.config.trustedProxies] : false,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: paramCharactersMax },
    frameworkErrors: (error, request, reply) => void answerError(d, error, request, reply),
    clientErrorHandler: answerClientError,
  });
  closeIdleConnections(app);
  addTracing(app);
  addHttpMetrics(app, d.metrics);
  addJsonBody(app);
  addVersionHeader(app);
  app.setErrorHandler((error: FastifyError, request, reply) => answerError(d, error, request, reply));
  app.setNotFoundHandler((request, reply) => sendProblem(request, reply, new KnownProblem('not_found')));

  const limiter = new RateLimiter({
    keyValues: d.keyValues,
    clock: d.clock,
    onFallback: (limit, error) => {
      d.metrics.rateLimitFallbacks.inc({ limit: limit.name });
      d.log.warn({ err: error }, 'the key-value store counts no limits; this process does');
    },
  });
  const refuseOtherMethods = watchMethods(app);
  const routes = collectRoutes(app);
  addSystemRoutes(app, d);
  if (d.config.surfaces.has('api')) {
    if (!('queue' in d)) throw new Error('the surface `api` has nothing to take jobs in with');
    const queries = new JobQueries(d.database);
    const guards = apiGuards({ ...d, limiter });
    addJobRoutes(app, { ...d, guards, queries });
    addJobEventRoutes(app, { ...d, guards, watcher: new JobWatcher({ queries, log: d.log }) });
    addCallbackRoutes(app, { ...d, guards, callbacks: new CallbackStore(d.database) });
    addDocsRoutes(app, { routes });
  }
  if (d.config.surfaces.has('delivery')) {
    const media = new MediaReader(d.media, { cacheBytesMax: d.config.deliveryCacheBytesMax });
    addStreamRoutes(app, { media, metrics: d.metrics });
    addKeyRoutes(app, { ...d, limiter });
    addThumbRoutes(app, { ...d, thumbs: new ThumbMaker(d) });
    await addPlayerRoutes(app, d);
  }
  refuseOtherMethods();
  return app;
}

/** The server as a part: listens from `start` on, and ends the answers under way when it stops. */
export function apiPart(d: ApiDependencies | DeliveryDependencies): Part {
  let app: FastifyInstance | undefined;
  return {
    name: 'api',
    async start() {
      app = await createServer(d);
      await app.listen({ host: d.config.host, port: d.config.port });
      d.log.info({ addresses: app.addresses() }, 'listening');
    },
    async stop(signal) {
      const server = app?.server;
      const giveUp = () => server?.closeAllConnections();
      signal.addEventListener('abort', giveUp, { once: true });
      await app?.close();
      signal.removeEventListener('abort', giveUp);
    },
  };
}

function answerError(
  d: Pick<ApiDependencies, 'log'>,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const problem = requestProblemOf(error);
  // A client that went away is no failure of ours, and nobody reads the answer.
  if (problem.code === 'internal_error' && !request.signal.aborted)
    d.log.error({ err: error, method: request.method, route: request.routeOptions?.url }, 'request failed');
  return sendProblem(request, reply, problem);
}

/** Answers what Node could not read as a request at all; no hook and no route has seen it. */
function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = statusOfClientError(error.code);
  const body = rawProblem(status);
  socket.end(
    `HTTP/1.1 ${status} \r\nContent-Type: application/problem+json\r\nCache-Control: no-store\r\n` +
      `Connection: close\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

/**
 * A connection whose answer was under way when the server began to close is kept alive after it, since the answer's
 * head had promised that; without this it would hold the server for as long as idle connections are kept.
 */
function closeIdleConnections(app: FastifyInstance): void {
  app.addHook('preClose', async () => {
    const timer = setInterval(() => app.server.closeIdleConnections(), 50);
    app.server.once('close', () => clearInterval(timer));
  });
}

/** `/api` is v1 (decisions.md, "versioning"). */
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
