import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

// A TCP proxy before a real server, for what networks do: answers that never come, connections that are cut.

/** `open`: all passes. `silent`: nothing passes and nobody is told. `swallow`: requests pass, answers do not. `cut`: refused. */
export type ProxyState = 'open' | 'silent' | 'swallow' | 'cut';

export interface Proxy {
  readonly port: number;
  /** `url` with the proxy in the place of the server. */
  before(url: string): string;
  /** Bytes held back by `silent` and `swallow` pass once it is `open` again. */
  set(state: ProxyState): void;
  close(): Promise<void>;
}

/** Starts a proxy before a server on this machine. */
export async function startProxy(serverUrl: string): Promise<Proxy> {
  const target = new URL(serverUrl);
  let state: ProxyState = 'open';
  const pairs = new Set<{ client: Socket; server: Socket }>();
  const flow = ({ client, server }: { client: Socket; server: Socket }) => {
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
  // Half open: when one side has said all, the other has yet to take it.
  const proxy = createServer({ allowHalfOpen: true }, (client) => {
    const server = connect({ port: Number(target.port), host: target.hostname, allowHalfOpen: true });
    const pair = { client, server };
    pairs.add(pair);
    client.on('data', (chunk: Buffer) => server.write(chunk));
    server.on('data', (chunk: Buffer) => client.write(chunk));
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      socket.on('error', () => undefined);
      socket.on('end', () => other.end());
      socket.on('close', () => {
        if (!socket.readableEnded) other.destroy();
        // The other may still be taking what came before, and must be found when all are cut.
        if (other.destroyed) pairs.delete(pair);
      });
    }
    flow(pair);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { port } = proxy.address() as AddressInfo;
  return {
    port,
    before(url) {
      const through = new URL(url);
      through.hostname = '127.0.0.1';
      through.port = String(port);
      return through.href;
    },
    set(next) {
      state = next;
      for (const pair of pairs) flow(pair);
    },
    async close() {
      state = 'cut';
      for (const pair of pairs) flow(pair);
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}
