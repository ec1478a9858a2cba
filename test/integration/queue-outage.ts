import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import type { TestContext } from 'vitest';
import { openDatabase } from '#platform/postgres/database.ts';
import { emptyDatabase } from '../../testing/databases.ts';

/** A way to a server that a test can cut: what is behind it goes on, and its clients see an outage. */
export interface Line {
  /** `url` with the address of the line. */
  url: string;
  /** Connections break, and new ones are refused. */
  cut(): Promise<void>;
  /** Connections stay, but nothing passes, as when a machine freezes. */
  freeze(): void;
  /** Connections that are there fall silent for good; new ones work. */
  stall(): void;
  mend(): Promise<void>;
  close(): Promise<void>;
}

export async function openLine(target: string): Promise<Line> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const stalled = new Set<Socket>();
  let isFrozen = false;
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      if (isFrozen) from.pause();
      from.on('data', (chunk) => to.write(chunk));
      from.on('error', () => {});
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
    if (isFrozen) near.pause();
  });
  const listen = async (at: number) => {
    server.listen(at, '127.0.0.1');
    await once(server, 'listening');
  };
  const cut = async () => {
    const closed = server.listening ? once(server, 'close') : undefined;
    server.close();
    for (const socket of [...sockets, ...stalled]) socket.destroy();
    await closed;
  };
  await listen(0);
  const near = (server.address() as AddressInfo).port;
  const url = new URL(target);
  url.port = String(near);
  return {
    url: url.href,
    cut,
    freeze() {
      isFrozen = true;
      for (const socket of sockets) socket.pause();
    },
    stall() {
      for (const socket of sockets) stalled.add(socket.pause());
      sockets.clear();
    },
    async mend() {
      isFrozen = false;
      for (const socket of sockets) socket.resume();
      if (!server.listening) await listen(near);
    },
    close: cut,
  };
}

/** An empty database that ends with the test, and a line to it. */
export async function openLines({ onTestFinished }: Pick<TestContext, 'onTestFinished'>) {
  const testDatabase = await emptyDatabase();
  const line = await openLine(testDatabase.url);
  const database = openDatabase(line.url, { maxConnections: 3 });
  onTestFinished(async () => {
    await database.close();
    await line.close();
    await testDatabase.drop();
  });
  return { testDatabase, line, database };
}
