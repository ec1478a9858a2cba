import { Redis } from 'ioredis';
import type { WindowCounter } from './window-counter.ts';

const prefix = 'reelwright:kv:hits:';

// One step on the server, so that no crash leaves a counter that never expires.
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
 * Counts on Redis or Valkey (`redis://…` or `rediss://…`). While the server does not answer, every call fails within
 * about two seconds, and at once when the connection is known to be lost; the client reconnects by itself.
 */
export function openRedisWindowCounter({ url }: { readonly url: string }): WindowCounter {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    // Commands of one turn of the event loop share a write.
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
  // Without an offline queue a command fails before the first connection, so the first calls wait for it.
  const connected = redis.connect().catch(() => {});
  const ready = async () => {
    if (redis.status === 'connecting' || redis.status === 'connect') await connected;
    return redis;
  };
  return {
    async hit(bucket, windowMs) {
      const [count, resetMs] = await (await ready()).hit(`${prefix}${bucket}`, windowMs);
      return { count, resetMs: Math.max(1, resetMs) };
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
