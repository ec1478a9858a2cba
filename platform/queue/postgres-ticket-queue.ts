import {
  type BackendFactory,
  DEFAULT_SCHEMA,
  type PgPool,
  PostgresConnection,
  type PostgresConnectionOptions,
  PostgresQueueBackend,
  Queue,
  runMigrations,
  Worker,
} from 'bullmq';
import type { Pool } from 'pg';
import { Once } from '#platform/concurrency/once.ts';
import { openPool } from '../postgres/pool.ts';
import type { Logger } from '../telemetry/logger.ts';
import { BullTicketQueue } from './bull-ticket-queue.ts';
import { type TicketLock, workerSettings } from './bull-ticket-reader.ts';
import type { TicketQueue } from './ticket-queue.ts';

/**
 * The ticket queue in PostgreSQL, in a schema of its own (`bullmq`), which BullMQ makes and migrates.
 *
 * @param o `databaseUrl` is `postgres://…`
 */
export function openPostgresTicketQueue(o: {
  readonly databaseUrl: string;
  readonly log: Logger;
  readonly lock?: TicketLock;
}): TicketQueue {
  const connection = o.databaseUrl;
  const openBackend: BackendFactory<PostgresQueueBackend, PostgresConnectionOptions> = (name, options) =>
    new PostgresQueueBackend(new QueueConnection(connection), name, options, true);
  return new BullTicketQueue(
    {
      openList: (name) =>
        new Queue(name, { connection, defaultJobOptions: { removeOnComplete: true, removeOnFail: true } }, openBackend),
      openWorker: (name) => new Worker(name, null, { connection, ...workerSettings(o.lock) }, openBackend),
    },
    o.log,
  );
}

/** Makes the tables of the queue, or brings them up to date. It may take seconds, for which no call on a queue waits. */
export async function migrateTicketQueue(databaseUrl: string): Promise<void> {
  const pool = openQueuePool(databaseUrl);
  try {
    await migrateBy(pool);
  } finally {
    await pool.end();
  }
}

async function migrateBy(pool: Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await runMigrations(client);
  } finally {
    client.release();
  }
}

function openQueuePool(databaseUrl: string): Pool {
  return openPool({
    connectionString: databaseUrl,
    options: `-c search_path=${DEFAULT_SCHEMA}`,
    // Of which a reader keeps one, on which it listens.
    max: 4,
    keepAlive: true,
    connectionTimeoutMillis: 2_000,
    statement_timeout: 10_000,
    // A connection on which no answer comes for so long is replaced.
    query_timeout: 12_000,
    application_name: 'reelwright-queue',
  });
}

/**
 * BullMQ's connection on a pool of its own. In a pool that BullMQ opens, clients have no listener of errors while it
 * migrates and while it closes: a server that stops at such a moment would end the process.
 */
class QueueConnection extends PostgresConnection {
  readonly #ready: Once<void>;
  readonly #closing: Once<void>;

  constructor(databaseUrl: string) {
    const pool = openQueuePool(databaseUrl);
    super(pool as PgPool);
    this.#ready = new Once(async () => {
      await migrateBy(pool);
      await super.waitUntilReady();
    });
    this.#closing = new Once(async () => {
      await super.close();
      await pool.end();
    });
  }

  override waitUntilReady(): Promise<void> {
    return this.#ready.get();
  }

  override close(): Promise<void> {
    return this.#closing.get();
  }
}
