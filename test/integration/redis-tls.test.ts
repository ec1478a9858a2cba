import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { inspectRedis } from '#platform/queue/check-redis.ts';
import { openRedisWindowCounter } from '#platform/rate-limit/redis-window-counter.ts';
import { certificate, trustCertificate } from '../../testing/certificate.ts';
import { startRedis } from '../../testing/servers.ts';
import { collectUncaught } from '../../testing/uncaught.ts';
import { isAvailable, openQueue } from './queue-stores.ts';

async function portOf(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Connects two sockets to each other, until one of them closes. */
function join(one: Socket, other: Socket): void {
  for (const socket of [one, other]) socket.on('error', () => undefined);
  one.pipe(other).pipe(one);
  one.on('close', () => other.destroy());
  other.on('close', () => one.destroy());
}

/** TLS before a server, and a way to it that breaks on demand as a faulty middlebox does. */
async function openTls(target: string) {
  const { port } = new URL(target);
  const terminator = createTlsServer(certificate, (client) => join(client, connect(Number(port), '127.0.0.1')));
  terminator.on('tlsClientError', () => undefined);
  const terminatorPort = await portOf(terminator);
  const ways = new Map<Socket, Buffer>();
  const proxy = createServer((client) => {
    const server = connect(terminatorPort, '127.0.0.1');
    join(client, server);
    server.on('data', (record: Buffer) => ways.set(client, record));
    client.on('close', () => ways.delete(client));
  });
  const url = `rediss://localhost:${await portOf(proxy)}`;
  return {
    url,
    /** Each client gets a record again that it had, which is a fault of TLS, and then loses its connection. */
    async break() {
      const open = [...ways];
      for (const [client, record] of open) client.write(record);
      await sleep(20);
      for (const [client] of open) client.resetAndDestroy();
      return open.length;
    },
  };
}

test.skipIf(!isAvailable('redis'))('a fault of TLS and a lost connection to Redis end no process', async () => {
  onTestFinished(trustCertificate());
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const uncaught = collectUncaught();
  const tls = await openTls(redis.url);
  const counter = openRedisWindowCounter({ url: tls.url });
  onTestFinished(() => counter.close());
  const queue = openQueue('redis', tls.url);
  onTestFinished(() => queue.close());
  const reader = queue.reader('default');
  for (let round = 0; round < 5; round += 1) {
    await expect.poll(() => counter.ping().then(() => 'answers', String)).toBe('answers');
    const ticket = { jobId: randomUUID(), attempt: 1, queue: 'default' } as const;
    await expect.poll(() => queue.add(ticket).then(() => 'added', String)).toBe('added');
    const next = await reader.next(AbortSignal.timeout(20_000));
    await next?.done();
    expect(next?.ticket).toEqual(ticket);
    const waiting = reader.next(AbortSignal.timeout(500));
    const inspected = inspectRedis(tls.url);
    expect(await tls.break()).toBeGreaterThan(2);
    await Promise.all([waiting, inspected]);
  }
  expect(uncaught).toEqual([]);
});
