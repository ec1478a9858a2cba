import type { Socket } from 'node:net';
import { Client, type ClientConfig, Pool, type PoolConfig } from 'pg';

/**
 * A pool whose connections may break at any time: while one is idle, while it connects, and between two queries of a
 * transaction. Only a query under way fails; nothing is thrown that no caller can catch.
 */
export function openPool(config: PoolConfig): Pool {
  const pool = new Pool({ ...config, Client: GuardedClient });
  // Both are needed: the pool's for idle clients, the client's own for one that breaks while a transaction thinks.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

interface Connection {
  attachListeners(stream: Socket): void;
}

/**
 * A client that loses its connection by a message which it cannot read, as from a server that asks for GSSAPI. The
 * library throws in the event of the socket, where no caller can catch it.
 */
class GuardedClient extends Client {
  constructor(config?: ClientConfig) {
    super(config);
    const { connection } = this as unknown as { readonly connection: Connection };
    const attach = connection.attachListeners.bind(connection);
    connection.attachListeners = (stream) => {
      attach(stream);
      const [read] = stream.listeners('data').slice(-1) as ((bytes: Buffer) => void)[];
      if (read === undefined) throw new TypeError('expected pg to listen to its socket');
      stream.off('data', read).on('data', (bytes: Buffer) => readOrDestroy(stream, () => read(bytes)));
    };
  }
}

function readOrDestroy(stream: Socket, read: () => void): void {
  try {
    read();
  } catch (error) {
    stream.destroy(error as Error);
  }
}
