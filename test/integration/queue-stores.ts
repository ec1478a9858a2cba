import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { inject, type TestContext, vi } from 'vitest';
import type { TicketLock } from '#platform/queue/bull-ticket-reader.ts';
import { migrateTicketQueue, openPostgresTicketQueue } from '#platform/queue/postgres-ticket-queue.ts';
import { openRedisTicketQueue } from '#platform/queue/redis-ticket-queue.ts';
import type { Ticket } from '#domain/jobs/ticket.ts';
import type { TicketQueue, TicketReader } from '#platform/queue/ticket-queue.ts';
import { createLogger, type Logger } from '#platform/telemetry/logger.ts';
import { emptyDatabase, emptyTables } from '../../testing/databases.ts';
import { findProgram, startRedis } from '../../testing/servers.ts';

/** The kinds of store a ticket queue can stand on, each as a real server of a test file's own. */
export const storeKinds = ['redis', 'postgres'] as const;
export type StoreKind = (typeof storeKinds)[number];

const silentLog = createLogger({ level: 'silent', name: 'test' });

export function isAvailable(kind: StoreKind): boolean {
  return kind === 'redis'
    ? findProgram('redis-server') !== null || findProgram('valkey-server') !== null
    : inject('postgres') !== null;
}

/** Locks that lapse soon, for tests of a reader that does not end its ticket. */
export const briefLock: TicketLock = { durationMs: 1_000, checkEveryMs: 300 };
/** Locks that no slow machine outlasts. */
const longLock: TicketLock = { durationMs: 120_000, checkEveryMs: 1_000 };

export function openQueue(
  kind: StoreKind,
  url: string,
  { lock = longLock, log = silentLog }: { readonly lock?: TicketLock; readonly log?: Logger } = {},
): TicketQueue {
  return kind === 'redis'
    ? openRedisTicketQueue({ url, log, lock })
    : openPostgresTicketQueue({ databaseUrl: url, log, lock });
}

/** Waits until a queue answers: on a busy machine its opening outlasts the time that a call waits for an answer. */
export async function answering(queue: TicketQueue): Promise<void> {
  await vi.waitFor(() => queue.depth(), { timeout: 60_000 });
}

export interface Store {
  url: string;
  /** Everything in it is lost at once. */
  wipe(): Promise<void>;
  stop(): Promise<void>;
}

export async function startStore(kind: StoreKind): Promise<Store> {
  if (kind === 'redis') {
    const server = await startRedis();
    const redis = new Redis(server.url);
    return {
      url: server.url,
      wipe: async () => void (await redis.flushall()),
      async stop() {
        redis.disconnect();
        await server.stop();
      },
    };
  }
  const database = await emptyDatabase();
  await migrateTicketQueue(database.url);
  const pool = new Pool({ connectionString: database.url, max: 1 });
  pool.on('error', () => {});
  return {
    url: database.url,
    async wipe() {
      const { rows } = await pool.query<{ name: string }>(
        `select format('bullmq.%I', tablename) as name from pg_tables
         where schemaname = 'bullmq' and tablename not like '%migration%'`,
      );
      await emptyTables(
        pool,
        rows.map(({ name }) => name),
      );
    },
    async stop() {
      await pool.end();
      await database.drop();
    },
  };
}

/** The ticket that comes within `ms`; null when none does. */
export async function taken(reader: TicketReader, ms = 10_000): Promise<Ticket | null> {
  const next = await reader.next(AbortSignal.timeout(ms));
  await next?.done();
  return next?.ticket ?? null;
}

export const newTicket = (over: Partial<Ticket> = {}): Ticket => ({
  jobId: randomUUID(),
  attempt: 1,
  queue: 'default',
  ...over,
});

/** A store of a test's own with a queue on it, for tests that run at once. */
export async function openStore(
  kind: StoreKind,
  { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
  options: Parameters<typeof openQueue>[2] = {},
): Promise<{ store: Store; queue: TicketQueue }> {
  const store = await startStore(kind);
  const queue = openQueue(kind, store.url, options);
  onTestFinished(async () => {
    await queue.close();
    await store.stop();
  });
  await answering(queue);
  return { store, queue };
}
