import { Redis } from 'ioredis';
import type { WindowCounter } from './window-counter.ts';

const prefix = 'reelwright:kv:';

// One step on the server, so that no crash leaves a counter without an end (decisions.md, "rate limits").
const hitScript = `
local count = redis.call('INCR', KEYS[1])
local rest = redis.call('PTTL', KEYS[1])
if rest < 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  rest = tonumber(ARGV[1])
end
return {count, rest}`;

interface HitRedis extends Redis {
  hit(key: string, windowMs: number): Promise<[number, number]>;
}

/**
 * The key-value store on Redis or Valkey. Every call fails within about two seconds while the server is away: at once
 * when the connection is known to be lost (probes.md, "ioredis for limits and health"). It is made again by itself.
 *
 * @param o `url` is `redis://…` or `rediss://…`
 */
export function openRedisWindowCounter(o: { readonly url: string }): WindowCounter {
  const redis = new Redis(o.url, {
    enableOfflineQueue: false,
    // Commands of one turn of the event loop share a write and an answer.
    enableAutoPipelining: true,
    connectTimeout: 500,
    commandTimeout: 1_500,
    socketTimeout: 2_000,
    maxRetriesPerRequest: 1,
    lazyConnect: true,
    retryStrategy: (times) => Math.min(times * 100, 2_000),
  }) as HitRedis;
  redis.on('error', () => {});
  redis.defineCommand('hit', { numberOfKeys: 1, lua: hitScript });
  // Without an offline queue a command may not come before the connection: the first calls wait for it.
  const connected = redis.connect().catch(() => {});
  const ready = async () => {
    if (redis.status === 'connecting' || redis.status === 'connect') await connected;
    return redis;
  };
  return {
    async hit(bucket, windowMs) {
      const [count, resetMs] = await (await ready()).hit(`${prefix}hits:${bucket}`, windowMs);
      return { count, resetMs: Math.max(1, resetMs) };
    },
    async get(key) {
      return await (await ready()).get(`${prefix}value:${key}`);
    },
    async set(key, value, ttlMs) {
      await (await ready()).set(`${prefix}value:${key}`, value, 'PX', Math.max(1, Math.ceil(ttlMs)));
    },
    async ping() {
      await (await ready()).ping();
    },
    close() {
      redis.disconnect();
      return Promise.resolve();
    },
  };
}
