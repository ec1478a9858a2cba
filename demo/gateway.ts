import { once } from 'node:events';
import { createServer, type IncomingMessage, request as sendRequest, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import { buffer } from 'node:stream/consumers';

// What browsers and other clients of the demo talk to: a few routes of the demo itself, and the service behind it for
// all others. So the service that the demo runs is the one of production, which has no such routes.

/** A route of the demo, such as `GET /demo/state`. */
type Route = () => Promise<{ readonly type: string; readonly body: string | Buffer }>;

export interface Gateway {
  /** `http://127.0.0.1:PORT` */
  readonly baseUrl: string;
  /** Requests before are answered 503. */
  forwardTo(service: { readonly port: number; readonly routes: Readonly<Record<string, Route>> }): void;
  close(): Promise<void>;
}

interface Service {
  readonly port: number;
  readonly routes: Readonly<Record<string, Route>>;
}

/** The page of the console gets the demo's part. */
const consolePaths = new Set(['/console/', '/console/index.html']);
const consoleTags =
  '<link rel="stylesheet" href="../demo/board.css" /><script src="../demo/board.js" type="module"></script>';

/** Takes the port, so that no other program has it while the service starts. @throws Error when the port is in use */
export async function openGateway(port: number): Promise<Gateway> {
  let service: Service | null = null;
  const server = createServer((request, response) => {
    if (service === null) response.writeHead(503, { 'retry-after': '1' }).end();
    else answer(request, response, service);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    forwardTo: (given) => void (service = given),
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function answer(request: IncomingMessage, response: ServerResponse, { port, routes }: Service): void {
  const path = request.url?.split('?')[0] ?? '/';
  const route = routes[`${request.method} ${path}`];
  if (route !== undefined) void answerRoute(request, response, route);
  else if (request.method === 'GET' && consolePaths.has(path)) forward(request, response, { port, change: addTags });
  else forward(request, response, { port });
}

/** A page of another site can neither send the header without being asked first, nor have this name. */
function isOwnPage({ method, headers }: IncomingMessage): boolean {
  const name = headers.host?.replace(/:\d+$/, '') ?? '';
  return ['127.0.0.1', 'localhost'].includes(name) && (method === 'GET' || headers['x-demo'] !== undefined);
}

async function answerRoute(request: IncomingMessage, response: ServerResponse, route: Route): Promise<void> {
  const head = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
  if (!isOwnPage(request)) {
    response.writeHead(403, head).end();
    return;
  }
  try {
    const { type, body } = await route();
    response.writeHead(200, { ...head, 'content-type': type }).end(body);
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    response.writeHead(500, { ...head, 'content-type': 'application/json' }).end(JSON.stringify({ detail }));
  }
}

const addTags = (html: string) => html.replace('</head>', `${consoleTags}</head>`);

/** Fields of one connection, and those by which a client asks for what would not be the whole page. */
const ofConnection = ['connection', 'keep-alive', 'transfer-encoding'];
const ofWholeness = ['accept-encoding', 'if-none-match', 'range'];

function without(headers: IncomingMessage['headers'], names: readonly string[]): IncomingMessage['headers'] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
}

interface Forwarding {
  readonly port: number;
  readonly change?: (text: string) => string;
}

function forward(request: IncomingMessage, response: ServerResponse, { port, change }: Forwarding): void {
  const headers = without(request.headers, ['connection', ...(change === undefined ? [] : ofWholeness)]);
  const { method, url: path } = request;
  const upstream = sendRequest({ host: '127.0.0.1', port, agent: false, method, path, headers });
  upstream.on('error', () => {
    if (response.headersSent) response.destroy();
    else response.writeHead(502).end();
  });
  response.on('close', () => upstream.destroy());
  upstream.on('response', (found) => {
    const { statusCode = 502 } = found;
    if (change === undefined) {
      response.writeHead(statusCode, without(found.headers, ofConnection));
      pipeline(found, response, () => {});
    } else {
      const kept = without(found.headers, [...ofConnection, 'content-length', 'etag']);
      buffer(found).then(
        (bytes) => response.writeHead(statusCode, kept).end(change(bytes.toString())),
        () => response.destroy(),
      );
    }
  });
  pipeline(request, upstream, () => {});
}
