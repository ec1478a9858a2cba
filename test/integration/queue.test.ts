import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { TicketQueue } from '#platform/queue/ticket-queue.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { openLine } from './queue-outage.ts';
import { checkRedis, inspectRedis } from '#platform/queue/check-redis.ts';
import {
  answering,
  briefLock,
  isAvailable,
  newTicket,
  openQueue,
  openStore,
  type Store,
  startStore,
  storeKinds,
  taken,
} from './queue-stores.ts';

const never = new AbortController().signal;
describe.each(storeKinds)('the ticket queue on %s', (kind) => {
  describe.skipIf(!isAvailable(kind))('with a real server', () => {
    let store: Store;
    let queue: TicketQueue;

    beforeAll(async () => {
      store = await startStore(kind);
    });
    afterAll(() => store.stop());
    beforeEach(async () => {
      await store.wipe();
      queue = openQueue(kind, store.url);
      await answering(queue);
    });
    afterEach(() => queue.close());

    test('a ticket is delivered as it was added, and removed once it is done', async () => {
      const ticket = newTicket({ trace: { traceparent: '00-1-2-01', tracestate: 'a=b' } });
      await queue.add(ticket);
      const next = await queue.reader('default').next(never);
      expect(next?.ticket).toEqual(ticket);
      expect((await queue.depth()).default).toEqual({ pending: 0, active: 1, retry: 0 });
      await next?.done();
      expect((await queue.depth()).default).toEqual({ pending: 0, active: 0, retry: 0 });
    });

    test('a ticket that is there already is not added again, also while it is taken', async () => {
      const ticket = newTicket();
      await Promise.all([queue.add(ticket), queue.add(ticket), queue.add(ticket)]);
      expect((await queue.depth()).default.pending).toBe(1);
      const reader = queue.reader('default');
      const next = await reader.next(never);
      await queue.add(ticket);
      expect((await queue.depth()).default).toEqual({ pending: 0, active: 1, retry: 0 });
      await next?.done();
      expect((await queue.depth()).default).toEqual({ pending: 0, active: 0, retry: 0 });
    });

    test('a ticket that is put back is the next of its priority again', async () => {
      const [first, second, urgent] = [newTicket(), newTicket(), newTicket({ priority: 1 })];
      const reader = queue.reader('default');
      await queue.add(first);
      await queue.add(second);
      const next = await reader.next(never);
      expect(next?.ticket).toEqual(first);
      await queue.add(urgent);
      await next?.putBack();
      expect((await queue.depth()).default).toEqual({ pending: 3, active: 0, retry: 0 });
      for (const ticket of [urgent, first, second]) expect(await taken(reader)).toEqual(ticket);
    });

    test('a delayed ticket waits for its time, then comes to a reader that waits', async () => {
      // Its time runs from somewhere between the asking and the answer.
      const askedAtMs = performance.now();
      await queue.add(newTicket(), { delayMs: 800 });
      expect((await queue.depth()).default).toEqual({ pending: 0, active: 0, retry: 1 });
      expect(await taken(queue.reader('default'))).not.toBeNull();
      const waitedMs = performance.now() - askedAtMs;
      expect(waitedMs).toBeGreaterThan(700);
      expect(waitedMs).toBeLessThan(4_000);
    });

    test('C11.35: tickets are taken by their priority, the highest first, then in the order they came', async () => {
      const [lowest, low, high] = [-1000, -1, 7].map((priority) => newTicket({ priority }));
      const [first, second, highest] = [newTicket(), newTicket(), newTicket({ priority: 1000 })];
      const inOrder = [highest, high, first, second, low, lowest];
      for (const ticket of [lowest, low, first, second, high, highest]) await queue.add(ticket!);
      expect((await queue.depth()).default).toEqual({ pending: inOrder.length, active: 0, retry: 0 });
      const reader = queue.reader('default');
      for (const ticket of inOrder) expect(await taken(reader)).toEqual(ticket);
    });

    test('an aborted wait ends at once and takes nothing: the next ticket goes to another reader', async () => {
      const leaving = new AbortController();
      const reader = queue.reader('default');
      await queue.add(newTicket());
      await taken(reader);
      const aborted = reader.next(leaving.signal);
      const abortedAt = performance.now();
      leaving.abort();
      expect(await aborted).toBeNull();
      expect(performance.now() - abortedAt).toBeLessThan(100);
      const ticket = newTicket();
      await queue.add(ticket);
      expect(await taken(queue.reader('default'), 3_000)).toEqual(ticket);
    });

    test('when everything in the store is lost, readers go on and new tickets reach them', async () => {
      const reader = queue.reader('default');
      await queue.add(newTicket());
      const lost = await reader.next(never);
      const next = taken(reader);
      await store.wipe();
      await lost?.done();
      const ticket = newTicket();
      await queue.add(ticket);
      expect(await next).toEqual(ticket);
    });

    test('a ticket that was not taken can be removed; one that was taken cannot', async () => {
      const [waiting, delayed, held] = [newTicket(), newTicket(), newTicket()];
      await queue.add(held);
      const next = await queue.reader('default').next(never);
      await queue.add(waiting);
      await queue.add(delayed, { delayMs: 60_000 });
      for (const ticket of [waiting, delayed, held, newTicket()]) await queue.remove(ticket);
      expect((await queue.depth()).default).toEqual({ pending: 0, active: 1, retry: 0 });
      await next?.done();
    });

    test('closing ends every wait, and a closed queue takes no ticket', async () => {
      const own = openQueue(kind, store.url);
      const readers = [own.reader('default'), own.reader('video:large')];
      for (const name of ['default', 'video:large'] as const) await own.add(newTicket({ queue: name }));
      for (const reader of readers) await taken(reader);
      const waits = readers.map((reader) => reader.next(never));
      const closedAt = performance.now();
      await own.close();
      expect(await Promise.all(waits)).toEqual([null, null]);
      expect(performance.now() - closedAt).toBeLessThan(3_000);
      await expect(own.add(newTicket())).rejects.toThrow('closed');
    });
  });
});

describe.concurrent.each(storeKinds)('the ticket queue on %s with a store of its own', (kind) => {
  describe.skipIf(!isAvailable(kind))('with a real server', () => {
    test('a ticket whose reader was killed comes back within seconds', async (context) => {
      const { store, queue } = await openStore(kind, context, { lock: briefLock });
      const ticket = newTicket();
      await queue.add(ticket);
      const child = spawn(process.execPath, [join(import.meta.dirname, 'queue-reader-process.ts'), kind, store.url], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const [output] = (await once(child.stdout, 'data')) as [Buffer];
      expect(output.toString().trim()).toBe(ticket.jobId);
      child.kill('SIGKILL');
      expect((await queue.depth()).default.active).toBe(1);
      expect(await taken(queue.reader('default'), 20_000)).toEqual(ticket);
    });

    test('a ticket that is not done in time comes back, again and again, and a late "done" is no error', async (context) => {
      const { queue } = await openStore(kind, context, { lock: briefLock });
      const ticket = newTicket();
      await queue.add(ticket);
      const reader = queue.reader('default');
      const first = await reader.next(never);
      const second = await reader.next(AbortSignal.timeout(20_000));
      expect(second?.ticket).toEqual(ticket);
      await first?.done();
      expect((await queue.depth()).default.active).toBe(1);
      const third = await reader.next(AbortSignal.timeout(20_000));
      await third?.done();
      expect((await queue.depth()).default).toEqual({ pending: 0, active: 0, retry: 0 });
    });

    test('a queue that is opened while the store is away works once it is there', async (context) => {
      const { store } = await openStore(kind, context);
      const line = await openLine(store.url);
      await line.cut();
      const early = openQueue(kind, line.url);
      try {
        const next = taken(early.reader('default'), 60_000);
        await expect(early.add(newTicket())).rejects.toThrow(Error);
        await line.mend();
        const ticket = newTicket();
        await context.expect.poll(() => early.add(ticket).then(() => 'added'), { timeout: 10_000 }).toBe('added');
        expect(await next).toEqual(ticket);
      } finally {
        await early.close();
        await line.close();
      }
    });
  });
});

test('a Redis that never answers is away', async ({ onTestFinished }) => {
  const silent = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1');
  onTestFinished(() => void silent.close());
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  expect(await inspectRedis(`redis://127.0.0.1:${port}`)).toMatchObject({ kind: 'away' });
}, 10_000);

test.skipIf(!isAvailable('redis'))('a Redis that may evict tickets is warned of', async () => {
  const store = await startStore('redis');
  const redis = new Redis(store.url);
  try {
    for (const [policy, warnings] of [
      ['noeviction', 0],
      ['allkeys-lru', 1],
    ] as const) {
      await redis.config('SET', 'maxmemory-policy', policy);
      const lines: string[] = [];
      const log = createLogger({
        level: 'warn',
        name: 'test',
        destination: { write: (line: string) => void lines.push(line) },
      });
      await checkRedis(store.url, log);
      expect(lines.filter((line) => line.includes(policy))).toHaveLength(warnings);
    }
  } finally {
    redis.disconnect();
    await store.stop();
  }
});
