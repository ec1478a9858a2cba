import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { inject } from 'vitest';
import { openPostgresTicketQueue } from '#platform/queue/postgres-ticket-queue.ts';
import { openRedisTicketQueue } from '#platform/queue/redis-ticket-queue.ts';
import type { TicketQueue } from '#platform/queue/ticket-queue.ts';
import { createLogger, type Logger } from '#platform/telemetry/logger.ts';
import { emptyDatabase } from '../../testing/databases.ts';
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

export function openQueue(kind: StoreKind, url: string, log: Logger = silentLog): TicketQueue {
  return kind === 'redis' ? openRedisTicketQueue({ url, log }) : openPostgresTicketQueue({ databaseUrl: url, log });
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
  const pool = new Pool({ connectionString: database.url, max: 1 });
  pool.on('error', () => {});
  return {
    url: database.url,
    async wipe() {
      const { rows } = await pool.query<{ name: string }>(
        `select format('bullmq.%I', tablename) as name from pg_tables
         where schemaname = 'bullmq' and tablename not like '%migration%'`,
      );
      if (rows.length > 0) await pool.query(`truncate ${rows.map(({ name }) => name).join(', ')} cascade`);
    },
    async stop() {
      await pool.end();
      await database.drop();
    },
  };
}
