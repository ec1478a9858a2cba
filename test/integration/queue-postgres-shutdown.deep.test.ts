import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { Ticket } from '#domain/jobs/ticket.ts';
import { collectUncaught } from '../../testing/uncaught.ts';
import { briefLock, isAvailable, openQueue, startStore } from './queue-stores.ts';

// What PostgreSQL sends a client when an administrator ends its connection, or the server stops.
const fields = ['SFATAL', 'VFATAL', 'C57P01', 'Mterminating connection due to administrator command', ''];
const body = Buffer.from(fields.map((field) => `${field}\0`).join(''));
const fatal = Buffer.concat([Buffer.from('E'), uint32(body.length + 4), body]);
const terminate = Buffer.concat([Buffer.from('X'), uint32(4)]);

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/**
 * A way to a PostgreSQL that stops right after its answer of number `at`, for one connection; the others, and those
 * that come later, work. A client that ends its connection is answered so too.
 */
async function stopAfterAnswer(target: string, at: number) {
  const { hostname, port } = new URL(target);
  let answers = 0;
  const proxy = createServer((client) => {
    const server = connect(Number(port), hostname);
    for (const one of [client, server]) one.on('error', () => undefined);
    client.on('data', (chunk) => {
      if (chunk.subarray(-terminate.length).equals(terminate)) client.write(fatal);
      server.write(chunk);
    });
    client.on('close', () => server.destroy());
    server.on('close', () => client.destroy());
    server.on('data', (chunk) => {
      answers += 1;
      client.write(answers === at ? Buffer.concat([chunk, fatal]) : chunk);
      if (answers === at) client.end();
    });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const url = new URL(target);
  url.port = String((proxy.address() as AddressInfo).port);
  return { url: url.href, answers: () => answers, close: () => void proxy.close() };
}

/** Adds a ticket, again after an error as callers do, takes it and closes the queue; resolves to what was taken. */
async function addAndTake(url: string, ticket: Ticket): Promise<Ticket | undefined> {
  // A ticket whose reader was cut off comes back within its lock.
  const queue = openQueue('postgres', url, { lock: briefLock });
  for (let isAdded = false; !isAdded;) {
    isAdded = await queue.add(ticket).then(
      () => true,
      () => false,
    );
  }
  const next = await queue.reader('default').next(AbortSignal.timeout(20_000));
  await next?.done();
  await queue.close();
  return next?.ticket;
}

/**
 * Stops the server after each of its answers from `first` on, `step` apart, until a run has fewer; resolves to how many
 * it has.
 */
async function stopAfterEach(first: number, step: number): Promise<number> {
  const store = await startStore('postgres');
  onTestFinished(() => store.stop());
  let answers = Infinity;
  for (let at = first; at <= answers; at += step) {
    await store.wipe();
    const proxy = await stopAfterAnswer(store.url, at);
    const ticket: Ticket = { jobId: randomUUID(), attempt: 1, queue: 'default' };
    expect(await addAndTake(proxy.url, ticket), `after answer ${at}`).toEqual(ticket);
    answers = proxy.answers();
    proxy.close();
  }
  return answers;
}

test.skipIf(!isAvailable('postgres'))(
  'a PostgreSQL that stops after any of its answers ends no process, and loses no ticket',
  async () => {
    const uncaught = collectUncaught();
    const answers = await Promise.all([1, 2, 3, 4].map((first) => stopAfterEach(first, 4)));
    expect(Math.min(...answers)).toBeGreaterThan(20);
    expect(uncaught).toEqual([]);
  },
  120_000,
);
