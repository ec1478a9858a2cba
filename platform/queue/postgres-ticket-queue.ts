import { createPostgresBackend, Queue, Worker } from 'bullmq';
import type { Logger } from '../telemetry/logger.ts';
import { BullTicketQueue } from './bull-ticket-queue.ts';
import { workerSettings } from './bull-ticket-reader.ts';
import type { TicketQueue } from './ticket-queue.ts';

/**
 * The ticket queue in PostgreSQL, in a schema of its own (`bullmq`), which BullMQ makes and migrates.
 *
 * @param o `databaseUrl` is `postgres://…`
 */
export function openPostgresTicketQueue(o: { readonly databaseUrl: string; readonly log: Logger }): TicketQueue {
  const connection = {
    connectionString: o.databaseUrl,
    schema: 'bullmq',
    migrate: true,
    max: 3,
    connectionTimeoutMillis: 2_000,
    statement_timeout: 10_000,
    // A connection on which no answer comes for so long is replaced.
    query_timeout: 12_000,
    application_name: 'reelwright-queue',
  };
  return new BullTicketQueue(
    {
      openList: (name) =>
        new Queue(
          name,
          { connection, defaultJobOptions: { removeOnComplete: true, removeOnFail: true } },
          createPostgresBackend,
        ),
      openWorker: (name) => new Worker(name, null, { connection, ...workerSettings }, createPostgresBackend),
    },
    o.log,
  );
}
