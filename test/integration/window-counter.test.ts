import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import type { WindowCounter } from '#platform/rate-limit/window-counter.ts';
import { openRedisWindowCounter } from '#platform/rate-limit/redis-window-counter.ts';
import { openTableWindowCounter } from '#platform/rate-limit/table-window-counter.ts';
import { openDatabase } from '#platform/postgres/database.ts';
import { migrate } from '#platform/postgres/migrate.ts';
import { emptyDatabase } from '../../testing/databases.ts';
import { startRedis } from '../../testing/servers.ts';
import { type Line, openLine } from './queue-outage.ts';

interface Opened {
  store: WindowCounter;
  close(): Promise<void>;
}

const kinds = {
  redis: {
    serverUrl: () => inject('redis')?.url,
    newPlace: () => Promise.resolve({ url: inject('redis')?.url ?? '', drop: () => Promise.resolve() }),
    open(url: string): Opened {
      const store = openRedisWindowCounter({ url });
      return { store, close: () => store.close() };
    },
  },
  table: {
    serverUrl: () => inject('postgres')?.url,
    async newPlace() {
      const place = await emptyDatabase();
      const database = openDatabase(place.url);
      await migrate(database);
      await database.close();
      return place;
    },
    open(url: string): Opened {
      const database = openDatabase(url);
      const store = openTableWindowCounter(database);
      return {
        store,
        async close() {
          await store.close();
          await database.close();
        },
      };
    },
  },
};

describe.skipIf(kinds.redis.serverUrl() === undefined)('a Redis that takes no writes', () => {
  test.each([
    ['a replica', ['replicaof', '127.0.0.1', '1'], ['replicaof', 'no', 'one']],
    ['one without memory', ['config', 'set', 'maxmemory', '1'], ['config', 'set', 'maxmemory', '0']],
  ] as const)('C22.27: %s is not ready', async (_, stop, resume) => {
    const server = await startRedis();
    const admin = new Redis(server.url);
    const store = openRedisWindowCounter({ url: server.url });
    try {
      await store.ping();
      await admin.call(stop[0], ...stop.slice(1));
      await expect(store.ping()).rejects.toThrow(/READONLY|OOM/);
      await admin.call(resume[0], ...resume.slice(1));
      await store.ping();
    } finally {
      admin.disconnect();
      await store.close();
      await server.stop();
    }
  });
});

describe.skipIf(kinds.table.serverUrl() === undefined)('the table of the window counter', () => {
  test('all expired counters are deleted, however many there are', async () => {
    const place = await kinds.table.newPlace();
    const database = openDatabase(place.url);
    const insert = `insert into key_values (key, hits, expires_at)
      select 'hits:' || n, 1, now() - interval '1 second' from generate_series(1, 3500) as n`;
    await database.pool.query(insert);
    const counter = openTableWindowCounter(database);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61_000 });
    await counter.hit('live', 60_000);
    vi.useRealTimers();
    const rows = async () => (await database.pool.query('select key from key_values')).rows;
    await expect.poll(rows).toEqual([{ key: 'hits:live' }]);
    await database.close();
    await place.drop();
  });
});

describe.each(['redis', 'table'] as const)('the window counter on %s', (kind) => {
  describe.skipIf(kinds[kind].serverUrl() === undefined)('with a real server', () => {
    let place: { url: string; drop(): Promise<void> };
    let opened: Opened[];
    let stores: WindowCounter[];

    beforeAll(async () => {
      place = await kinds[kind].newPlace();
      opened = [kinds[kind].open(place.url), kinds[kind].open(place.url)];
      stores = opened.map(({ store }) => store);
    });
    afterAll(async () => {
      await Promise.all(opened.map((one) => one.close()));
      await place.drop();
    });
    const first = () => stores[0] as WindowCounter;

    test('C23.3: hits of a window are counted until a window length after its first hit, whatever follows', async () => {
      const bucket = randomUUID();
      expect(await first().hit(bucket, 60_000)).toEqual({ count: 1, resetMs: expect.closeTo(60_000, -3) as number });
      let hits = 1;
      await expect
        .poll(async () => {
          const { count, resetMs } = await first().hit(bucket, 60_000);
          expect(count).toBe((hits += 1));
          return resetMs;
        })
        .toBeLessThanOrEqual(59_750);
    });

    test('each of 200 simultaneous hits from two connections is counted once', async () => {
      const bucket = randomUUID();
      const counts = await Promise.all(
        Array.from({ length: 200 }, async (_, i) => (await (stores[i % 2] as WindowCounter).hit(bucket, 60_000)).count),
      );
      expect(counts.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, i) => i + 1));
    });

    test('C23.3: the first hit after a window has ended starts a new window', async () => {
      const bucket = randomUUID();
      await first().hit(bucket, 150);
      expect((await first().hit(bucket, 150)).count).toBe(2);
      await expect.poll(async () => (await first().hit(bucket, 150)).count).toBe(1);
    });

    test('calls fail within two seconds while the server is away, and work again when it is back', async () => {
      const line: Line = await openLine(place.url);
      const far = kinds[kind].open(line.url);
      try {
        await far.store.ping();
        await line.cut();
        for (let i = 0; i < 5; i++) {
          const startedAt = performance.now();
          await expect(far.store.hit('b', 1_000)).rejects.toThrow(Error);
          // The first call may still find the connection; from then on it is known to be lost.
          expect(performance.now() - startedAt).toBeLessThan(i === 0 ? 2_000 : 300);
        }
        await line.mend();
        await expect.poll(() => far.store.ping().then(() => 'up'), { timeout: 10_000 }).toBe('up');
      } finally {
        await far.close();
        await line.close();
      }
    });
  });
});
