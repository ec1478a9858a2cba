import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { openRig, type Rig, until } from '../../testing/controller-rig.ts';
import { type RedisServer, startRedis } from '../../testing/servers.ts';

describe.skipIf(!inject('postgres') || !inject('redis'))('a wiped queue', () => {
  let redis: RedisServer;
  let rig: Rig;
  beforeEach(async () => {
    // A server of its own: FLUSHALL removes the data of every test that shares it.
    redis = await startRedis();
    rig = await openRig({ REDIS_URL: redis.url, LEASE_DURATION: '15s', TICKET_AGE: '1s', SWEEP_INTERVAL: '500ms' });
  });
  afterEach(async () => {
    await rig.close();
    await redis.stop();
  });

  it(
    'C12.1: after the queue is wiped all of 100 jobs complete, and none runs twice',
    { timeout: 240_000 },
    async () => {
      rig.startWorker({ workerConcurrency: 3 });
      rig.startWorker({ workerConcurrency: 3 });
      const ids = await Promise.all(Array.from({ length: 100 }, () => rig.submit('ok', { type: 'image:thumbnail' })));
      const completed = async () => {
        const { rows } = await rig.database.pool.query<{ id: string }>(
          `select id from jobs where status = 'completed'`,
        );
        return rows.length;
      };
      await until(completed, (count) => count >= 40, 120_000);
      const client = new Redis(redis.url);
      await client.flushall();
      client.disconnect();
      await until(completed, (count) => count === 100, 120_000);
      const begun = (await rig.notes()).filter(({ what }) => what === 'begin').map(({ job }) => job);
      expect(begun.toSorted()).toEqual(ids.toSorted());
    },
  );
});
