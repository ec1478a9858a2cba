import { Redis } from 'ioredis';
import type { Logger } from '../telemetry/logger.ts';

/**
 * Checks a Redis before it is used. One that is away is no failure, since its users wait for it. Warns when the server
 * may evict tickets: only the sweeper restores them, and BullMQ's own data may become inconsistent.
 *
 * @throws Error when the server refuses the user, the password or the number of the database
 */
export async function checkRedis(url: string, log: Logger): Promise<void> {
  const redis = new Redis(url, {
    lazyConnect: true,
    enableOfflineQueue: false,
    connectTimeout: 500,
    retryStrategy: () => null,
  });
  // A failed call says only that the connection is closed; the event says why.
  let reason: Error | null = null;
  redis.on('error', (error: Error) => (reason = error));
  try {
    await redis.connect();
    const policy = /^maxmemory_policy:(\S+)/m.exec(await redis.info('memory'))?.[1];
    if (policy !== undefined && policy !== 'noeviction')
      log.warn({ policy }, 'Redis may evict tickets: its maxmemory-policy must be noeviction');
  } catch (error) {
    const { message } = reason ?? (error as Error);
    if (/^(?:NOAUTH|WRONGPASS|ERR invalid password|ERR DB index)/.test(message)) {
      const advice = 'expected a valid user and password, and the number of an existing database';
      throw new Error(`REDIS_URL is refused by the server (${message.slice(0, 60)}): ${advice}`, { cause: error });
    }
    log.warn({ err: reason ?? error }, 'Redis does not answer yet; its maxmemory-policy was not looked at');
  } finally {
    redis.disconnect();
  }
}
