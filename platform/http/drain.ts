import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { pause } from '../lifecycle/backoff.ts';
import type { Listeners } from './listeners.ts';

// A client that keeps its connection learns that a server ends from the last response alone. Where the server closes
// the connection while a request is on its way, the client sees a reset, and a player that does not repeat it an error.

const lookEveryMs = 100;

/** A server with all its sockets. */
interface Drained {
  readonly server: Server;
  readonly listeners: Pick<Listeners, 'connectionCount'>;
}

/**
 * Makes each response of a server the last of its connection, and waits until no connection is open, for `forMs` at
 * most. The server listens meanwhile: routers may send clients to it for a moment.
 */
export async function drain(
  { server, listeners }: Drained,
  { forMs, signal }: { readonly forMs: number; readonly signal: AbortSignal },
): Promise<void> {
  server.prependListener('request', (_request: IncomingMessage, response: ServerResponse) => {
    response.shouldKeepAlive = false;
  });
  const endsAtMs = performance.now() + forMs;
  while (performance.now() < endsAtMs && !signal.aborted && (await listeners.connectionCount()) > 0)
    await pause(lookEveryMs, signal);
}
