import { Queue, Worker } from 'bullmq';
import type { Ticket } from '#domain/jobs/ticket.ts';
import { RedisConnector } from '../redis/connector.ts';
import type { Logger } from '../telemetry/logger.ts';
import { BullTicketQueue } from './bull-ticket-queue.ts';
import { type TicketLock, workerSettings } from './bull-ticket-reader.ts';
import type { TicketQueue } from './ticket-queue.ts';

/** Commands fail at once while Redis is away (fastify/fastify-rate-limit#84); the client reconnects by itself. */
const failFast = { enableOfflineQueue: false, connectTimeout: 500, maxRetriesPerRequest: 1 } as const;
/** A connection without an answer for this long is replaced: half-open ones look alive for a quarter of an hour. */
const socketTimeoutMs = { list: 2_000, worker: 8_000 } as const;
const retryStrategy = (times: number) => Math.min(times * 100, 2_000);
const prefix = 'reelwright';

/**
 * The ticket queue on Redis or Valkey.
 *
 * @param o `url` is `redis://…` or `rediss://…`
 */
export function openRedisTicketQueue(o: {
  readonly url: string;
  readonly log: Logger;
  readonly lock?: TicketLock;
}): TicketQueue {
  const { url, log } = o;
  return new BullTicketQueue(
    {
      openList: (name) =>
        new Queue<Ticket>(name, {
          connection: {
            url,
            Connector: RedisConnector,
            ...failFast,
            socketTimeout: socketTimeoutMs.list,
            retryStrategy,
          },
          prefix,
          defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
        }),
      // A reader waits for Redis to come back, however long that takes.
      openWorker: (name) =>
        new Worker<Ticket>(name, null, {
          connection: {
            url,
            Connector: RedisConnector,
            connectTimeout: 500,
            maxRetriesPerRequest: null,
            socketTimeout: socketTimeoutMs.worker,
            retryStrategy,
          },
          prefix,
          ...workerSettings(o.lock),
        }),
    },
    log,
  );
}
