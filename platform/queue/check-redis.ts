import { Redis } from 'ioredis';
import { RedisConnector } from '../redis/connector.ts';
import type { Logger } from '../telemetry/logger.ts';

/** The answer of a Redis before it is used. */
export type RedisState =
  /** `policy`: its maxmemory-policy, null where it does not say. */
  | { readonly kind: 'answers'; readonly policy: string | null }
  /** It refuses the user, the password or the number of the database. */
  | { readonly kind: 'refused'; readonly error: Error }
  | { readonly kind: 'away'; readonly error: unknown };

/** Connects once, and asks for the policy by which the server evicts keys. */
export async function inspectRedis(url: string): Promise<RedisState> {
  const redis = new Redis(url, {
    Connector: RedisConnector,
    lazyConnect: true,
    enableOfflineQueue: false,
    connectTimeout: 500,
    socketTimeout: 2_000,
    commandTimeout: 2_000,
    retryStrategy: () => null,
  });
  // A failed call says only that the connection is closed; the event says why.
  let reason: Error | null = null;
  redis.on('error', (error: Error) => (reason = error));
  try {
    await redis.connect();
    const policy = /^maxmemory_policy:(\S+)/m.exec(await redis.info('memory'))?.[1];
    return { kind: 'answers', policy: policy ?? null };
  } catch (thrown) {
    const error = reason ?? (thrown as Error);
    const isRefused = /^(?:NOAUTH|WRONGPASS|ERR invalid password|ERR DB index)/.test(error.message);
    return { kind: isRefused ? 'refused' : 'away', error };
  } finally {
    redis.disconnect();
  }
}

/**
 * Checks a Redis before it is used. One that is away is no failure, since its users wait for it. Warns when the server
 * may evict tickets: only the sweeper restores them, and BullMQ's own data may become inconsistent.
 *
 * @throws Error when the server refuses the user, the password or the number of the database
 */
export async function checkRedis(url: string, log: Logger): Promise<void> {
  const state = await inspectRedis(url);
  if (state.kind === 'refused') {
    const { error } = state;
    const advice = 'expected a valid user and password, and the number of an existing database';
    throw new Error(`REDIS_URL is refused by the server (${error.message.slice(0, 60)}): ${advice}`, { cause: error });
  }
  if (state.kind === 'away')
    log.warn({ err: state.error }, 'Redis does not answer yet; its maxmemory-policy was not looked at');
  else if (state.policy !== null && state.policy !== 'noeviction')
    log.warn({ policy: state.policy }, 'Redis may evict tickets: its maxmemory-policy must be noeviction');
}
