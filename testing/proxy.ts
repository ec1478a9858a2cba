import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

// A TCP proxy before a real server, for what networks do: answers that never come, connections that are cut.

/**
 * `open`: everything passes. `silent`: nothing passes, connections stay. `swallow`: requests pass, answers do not.
 * `cut`: connections are destroyed and new ones are refused.
 */
export type ProxyState = 'open' | 'silent' | 'swallow' | 'cut';

export interface Proxy {
  /** The URL of the server with the proxy's address. */
  readonly url: string;
  /** Bytes held back by `silent` and `swallow` pass once it is `open` again. */
  set(state: ProxyState): Promise<void>;
  /** Later connections go to another server, which may have come back at another address. */
  moveTo(serverUrl: string): void;
  /** How many requests of HTTP clients have sent so far. */
  requestCount(): number;
  close(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

/** Each request begins a packet: clients of storage send none before the last one was answered. */
const requestStart = /^(?:GET|HEAD|PUT|POST|DELETE) /;

/** Starts a proxy before a server on this machine. */
export async function startProxy(serverUrl: string): Promise<Proxy> {
  let target = new URL(serverUrl);
  let state: ProxyState = 'open';
  let requestCount = 0;
  const pairs = new Set<Pair>();
  const flow = ({ client, server }: Pair) => {
    if (state === 'cut') {
      client.destroy();
      server.destroy();
      return;
    }
    if (state === 'silent') client.pause();
    else client.resume();
    if (state === 'open') server.resume();
    else server.pause();
  };
  // Half open: when one side has ended, the other still takes what came before.
  const listener = createServer({ allowHalfOpen: true }, (client) => {
    const server = connect({ port: Number(target.port), host: target.hostname, allowHalfOpen: true });
    const pair = { client, server };
    pairs.add(pair);
    client.on('data', (chunk: Buffer) => {
      if (requestStart.test(chunk.toString('latin1', 0, 8))) requestCount += 1;
    });
    forward(client, server, () => pairs.delete(pair));
    forward(server, client, () => pairs.delete(pair));
    flow(pair);
  });
  const listen = async (port: number) => {
    listener.listen(port, '127.0.0.1');
    await once(listener, 'listening');
  };
  await listen(0);
  const { port } = listener.address() as AddressInfo;
  const url = new URL(serverUrl);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  const set = async (next: ProxyState) => {
    state = next;
    const closed = state === 'cut' && listener.listening ? once(listener, 'close') : null;
    if (closed !== null) listener.close();
    for (const pair of pairs) flow(pair);
    await closed;
    if (state !== 'cut' && !listener.listening) await listen(port);
  };
  return {
    url: url.href,
    set,
    moveTo: (movedTo) => {
      target = new URL(movedTo);
    },
    requestCount: () => requestCount,
    close: () => set('cut'),
  };
}

/** Passes on what comes from `from`; calls `onClosed` once both sockets are closed. */
function forward(from: Socket, to: Socket, onClosed: () => void): void {
  from.on('data', (chunk: Buffer) => to.write(chunk));
  from.on('error', () => undefined);
  from.on('end', () => to.end());
  from.on('close', () => {
    if (!from.readableEnded) to.destroy();
    if (to.destroyed) onClosed();
  });
}
