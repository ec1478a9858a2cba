import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, createServer, type Server as Listener } from 'node:net';
import { promisify } from 'node:util';

// libuv accepts one connection of a socket in each turn of the event loop. While much is read and written, turns are
// long, and a client that connects hundreds of times a second would keep all others waiting. Several sockets of one
// port are as many connections a turn.

/** Other systems do not share a port among sockets. */
const socketsOfPort = process.platform === 'linux' ? 64 : 1;

/** Where a server listens. */
export interface Place {
  readonly host: string;
  readonly port: number;
}

/**
 * How to listen on a port that several sockets share. Another process could share it too, so whether one has it is
 * asked first.
 *
 * @throws an error with the code `EADDRINUSE`
 */
export async function sharedPlace({ host, port }: Place): Promise<Place & { readonly reusePort: boolean }> {
  const probe = createServer().listen({ host, port });
  await once(probe, 'listening');
  const { port: free } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return { host, port: free, reusePort: socketsOfPort > 1 };
}

/** The further sockets of a server. */
export interface Listeners {
  /** Of these and of the server itself. */
  readonly connectionCount: () => Promise<number>;
  /** Waits until their connections have ended. */
  readonly close: () => Promise<void>;
}

/** Adds sockets to the one that a server listens on. */
export async function addListeners(server: Server, place: Place): Promise<Listeners> {
  const listeners = Array.from({ length: socketsOfPort - 1 }, () =>
    createServer({ allowHalfOpen: true, noDelay: true }, (socket) => server.emit('connection', socket)),
  );
  await Promise.all(listeners.map((listener) => once(listener.listen({ ...place, reusePort: true }), 'listening')));
  return {
    async connectionCount() {
      const counts = [server, ...listeners].map((listener) => promisify(listener.getConnections.bind(listener))());
      return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
    },
    close: () => close(server, listeners),
  };
}

async function close(server: Server, listeners: readonly Listener[]): Promise<void> {
  const timer = setInterval(() => server.closeIdleConnections(), 50);
  await Promise.all(listeners.map((listener) => once(listener.close(), 'close')));
  clearInterval(timer);
}
