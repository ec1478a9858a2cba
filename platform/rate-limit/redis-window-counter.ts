import { type ChainableCommander, Redis } from 'ioredis';
import { CoalescedCalls } from '#platform/concurrency/coalesced-calls.ts';
import { RedisConnector } from '../redis/connector.ts';
import type { WindowCount, WindowCounter } from './window-counter.ts';

const prefix = 'reelwright:kv:hits:';

// One step on the server, so that no crash leaves a counter that never expires.
const hitScript = `
local count = redis.call('INCRBY', KEYS[1], ARGV[2])
local rest = redis.call('PTTL', KEYS[1])
if rest < 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  rest = tonumber(ARGV[1])
end
return {count, rest}`;

interface HitPipeline extends ChainableCommander {
  hit(key: string, windowMs: number, count: number): HitPipeline;
}

interface HitRedis extends Redis {
  pipeline(): HitPipeline;
}

interface Hit {
  readonly bucket: string;
  readonly windowMs: number;
}

/**
 * One batch is on its way while the next gathers. Its size may be large: a bucket is one command, however often it is
 * hit.
 */
const hitLimits = { sizeMax: 10_000, atOnceMax: 2 } as const;

/**
 * Counts on Redis or Valkey (`redis://…` or `rediss://…`). While the server does not answer, every call fails within
 * about two seconds, and at once when the connection is known to be lost; the client reconnects by itself.
 */
export function openRedisWindowCounter({ url }: { readonly url: string }): WindowCounter {
  const redis = new Redis(url, {
    Connector: RedisConnector,
    enableOfflineQueue: false,
    connectTimeout: 500,
    commandTimeout: 1_500,
    socketTimeout: 2_000,
    maxRetriesPerRequest: 1,
    lazyConnect: true,
    retryStrategy: (times) => Math.min(times * 100, 2_000),
  }) as HitRedis;
  redis.on('error', () => {});
  redis.defineCommand('hit', { numberOfKeys: 1, lua: hitScript });
  // Without an offline queue a command fails before the first connection, so the first calls wait for it.
  const connected = redis.connect().catch(() => {});
  const ready = async () => {
    if (redis.status === 'connecting' || redis.status === 'connect') await connected;
    return redis;
  };
  const hits = new CoalescedCalls<Hit, WindowCount>({
    run: async (batch) => hitAll(await ready(), batch),
    ...hitLimits,
  });
  return {
    hit: (bucket, windowMs) => hits.add({ bucket, windowMs }),
    async ping() {
      // A replica, and a server without memory, answers and takes no write.
      const [hit] = await hitAll(await ready(), [readinessHit]);
      await hit;
    },
    close() {
      redis.disconnect();
      return Promise.resolve();
    },
  };
}

const readinessHit: Hit = { bucket: 'readiness', windowMs: 1000 };

/** Counts all hits by one write, with one command for each bucket. Returns the count after each hit. */
async function hitAll(redis: HitRedis, hits: readonly Hit[]): Promise<(WindowCount | Promise<never>)[]> {
  const counts = new Map<string, { readonly hit: Hit; count: number }>();
  const places = hits.map((hit) => {
    const name = `${hit.windowMs}:${hit.bucket}`;
    const counted = counts.get(name) ?? { hit, count: 0 };
    counts.set(name, counted);
    return { name, place: (counted.count += 1) };
  });
  const pipeline = redis.pipeline();
  for (const { hit, count } of counts.values()) pipeline.hit(`${prefix}${hit.bucket}`, hit.windowMs, count);
  const answers = (await pipeline.exec()) ?? [];
  const answerOf = new Map([...counts.keys()].map((name, index) => [name, answers[index]]));
  return places.map(({ name, place }) => {
    const [error, answer] = answerOf.get(name) ?? [new Error('a pipeline answers each of its commands')];
    if (error !== null) return Promise.reject(error);
    const [countAfter, resetMs] = answer as [number, number];
    return { count: countAfter - (counts.get(name)?.count ?? 0) + place, resetMs: Math.max(1, resetMs) };
  });
}
