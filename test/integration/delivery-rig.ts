import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { promisify } from 'node:util';
import type { FastifyInstance } from 'fastify';
import { afterEach } from 'vitest';
import { createHttpServer } from '#platform/http/server.ts';
import { openProcessWindowCounter } from '#platform/rate-limit/process-window-counter.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { DeletedMedia } from '../../delivery/deleted-media.ts';
import { PlaybackStates } from '../../delivery/playback-states.ts';
import { openPlayback } from '#domain/media/playback.ts';
import { DataPlane } from '../../delivery/data-plane/data-plane.ts';
import { addStreamRoutes } from '../../delivery/routes/stream.ts';

const nothingSigned = { all: async () => [], changed: async () => [], find: async () => openPlayback };
const nothingDeleted = { recent: async () => [], changed: async () => [], isDeleted: async () => false };

// Delivery over a storage server of the test, which records the requests that it gets, and clients that are slow.

let closings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closings.toReversed()) await close();
  closings = [];
});

interface Delivery {
  readonly port: number;
  readonly metrics: Metrics;
  readonly connectionCount: () => Promise<number>;
  /** Method and key of each request to the bucket, in order. */
  readonly requests: string[];
  /** Keys of the objects whose bodies were requested, in order. */
  readonly reads: string[];
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

interface Options {
  readonly stalledMs?: number;
  readonly connectionsMax?: number;
  readonly bytesPerSecondMin?: number;
  readonly rateWindowMs?: number;
  /** The timeout of the storage. */
  readonly timeoutMs?: number;
  /** 1 MiB by default. */
  readonly cacheBytesMax?: number;
  readonly addRoutes?: (app: FastifyInstance) => void;
  readonly mutableCacheControl?: string;
}

export async function startDelivery(origin: RequestListener, options: Options = {}): Promise<Delivery> {
  const { addRoutes, mutableCacheControl = null, timeoutMs = 10_000, ...more } = options;
  const { cacheBytesMax = 1024 * 1024, ...limits } = more;
  const [requests, reads]: [string[], string[]] = [[], []];
  const onRequest: RequestListener = (request, response) => {
    const key = (request.url ?? '').replace('/media/', '');
    requests.push(`${request.method} ${key}`);
    if (request.method === 'GET') reads.push(key);
    origin(request, response);
  };
  const server = createServer(onRequest);
  const endpoint = `http://127.0.0.1:${await listen(server)}`;
  const rest = { region: 'us-east-1', forcePathStyle: true, chainVariables: {}, checksums: 'when_supported' as const };
  const keys = { accessKeyId: 'key', secretAccessKey: 'secret' };
  const s3 = { endpoint, keys, timeoutMs, ...rest };
  const store = openObjectStore({ bucket: 'media', s3 });
  const metrics = new Metrics();
  const app = await createHttpServer({
    config: { host: '127.0.0.1', port: 0, trustedProxies: [] },
    windowCounter: openProcessWindowCounter(() => new Date()),
    checks: {},
    metrics,
    log: createLogger({ level: 'fatal', name: 'test' }),
    clock: () => new Date(),
    limits,
    addRoutes: async (routes, { fastPaths, clients }) => {
      const log = createLogger({ level: 'fatal', name: 'test' });
      const deleted = new DeletedMedia({ store: nothingDeleted, log });
      const playback = new PlaybackStates({ store: nothingSigned, log, hasTickets: false });
      const isBarred = (url: string) => deleted.isRecent(url);
      const plane = new DataPlane({ store, metrics, fastPaths, clients, isBarred, cacheBytesMax });
      addStreamRoutes(routes, { plane, deleted, playback, fastPaths, mutableCacheControl });
      addRoutes?.(routes);
    },
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  closings.push(async () => {
    app.server.closeAllConnections();
    await app.close();
    await store.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const connectionCount = () => promisify(app.server.getConnections.bind(app.server))();
  return { port: (app.server.address() as AddressInfo).port, metrics, requests, reads, connectionCount };
}

/** `from`: the address of the client, one of 127.0.0.0/8. */
export async function statusOf(port: number, path: string, from = '127.0.0.1'): Promise<number> {
  const asked = get({ host: '127.0.0.1', port, path, localAddress: from, agent: false });
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode ?? 0;
}

/** Clients that send a request and read nothing. */
export async function stalledClients(
  port: number,
  count: number,
  request: string | ((n: number) => string),
  from = '127.0.0.1',
): Promise<Socket[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const socket = connect({ port, host: '127.0.0.1', localAddress: from });
      socket.on('error', () => {});
      await once(socket, 'connect');
      socket.pause();
      socket.write(typeof request === 'string' ? request : request(n));
      return socket;
    }),
  );
}
