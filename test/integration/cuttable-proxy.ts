import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

// A way to a server that a test can cut and mend: what stands before it sees a server that dies and comes back.

export interface CuttableProxy {
  /** The URL of the server with the proxy's address. */
  readonly url: string;
  /** Breaks every connection; new ones are refused. */
  cut(): Promise<void>;
  /** Breaks no connection, but lets no byte through: a server that hangs. */
  hang(): void;
  /** Lets everything through again, to another server when `serverUrl` names one: it may have come back elsewhere. */
  mend(serverUrl?: string): Promise<void>;
  close(): Promise<void>;
}

export async function cuttableProxy(serverUrl: string): Promise<CuttableProxy> {
  let target = new URL(serverUrl);
  const sockets = new Set<Socket>();
  let isHanging = false;
  // Half open: when one side has said all, the other has yet to take it.
  const listener = createServer({ allowHalfOpen: true }, (client) => {
    const server = connect({ port: Number(target.port), host: target.hostname, allowHalfOpen: true });
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => {});
      from.on('end', () => to.end());
      from.on('close', () => {
        sockets.delete(from);
        if (!from.readableEnded) to.destroy();
      });
      from.on('data', (chunk) => {
        if (!isHanging) to.write(chunk);
      });
    }
  });
  const listen = (port: number) =>
    new Promise<void>((resolve, reject) => {
      listener.once('error', reject);
      listener.listen(port, '127.0.0.1', resolve);
    });
  await listen(0);
  const { port } = listener.address() as AddressInfo;
  const cut = async () => {
    const closed = new Promise((resolve) => listener.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  const url = new URL(serverUrl);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return {
    url: url.href,
    cut,
    hang: () => (isHanging = true),
    mend: async (movedTo) => {
      if (movedTo !== undefined) target = new URL(movedTo);
      isHanging = false;
      if (!listener.listening) await listen(port);
    },
    close: async () => {
      if (listener.listening) await cut();
    },
  };
}
