import { poolOfQueue, type QueueName } from '#domain/jobs/routing.ts';
import type { Ticket } from '#domain/jobs/ticket.ts';
import { ticketOf } from '#jobs/submission/enqueue.ts';
import { batchPool } from '../batches/batch.ts';
import type { Batches } from '../batches/batches.ts';
import type { Term } from './term.ts';

/** The ports that claiming needs. */
export interface ClaimPorts extends Pick<Term['ports'], 'caches' | 'jobs' | 'runnerNamespace' | 'slots'> {
  readonly batches: Pick<Batches, 'leaves'>;
  /** Whether this leader may claim jobs now. */
  readonly mayClaim: () => boolean;
}

const poolsOfQueues: readonly string[] = Object.values(poolOfQueue);

/** Which jobs admission claims for the leader, and when. */
export class Claims {
  readonly #ports: ClaimPorts;

  constructor(ports: ClaimPorts) {
    this.#ports = ports;
  }

  /** How many more jobs of `queue` may be claimed. */
  freeSlots(queue: QueueName): number {
    return this.#ports.mayClaim() ? this.#ports.slots.freeForTickets(poolOfQueue[queue]) : 0;
  }

  /** Whether admission claims the job of a ticket: neither a batch does, nor the next free slot of a pool it names. */
  async admits(ticket: Ticket): Promise<boolean> {
    const { batches, caches, slots, runnerNamespace } = this.#ports;
    const { pool, queue } = ticket;
    if (pool === undefined || pool === poolOfQueue[queue]) return !(await batches.leaves(ticket));
    // A job whose pool does not exist is claimed: what it waits for then has a deadline.
    return caches.pools.get(runnerNamespace, pool) === undefined || slots.freeForTickets(pool) > 0;
  }

  /** Tickets of the jobs that need no turn in a queue: of image jobs with reserved slots, and of pools without one. */
  async ticketsPastQueue(): Promise<readonly Ticket[]> {
    if (!this.#ports.mayClaim()) return [];
    return [...(await this.#ticketsForReservedSlots()), ...(await this.#ticketsOfOtherPools())];
  }

  /** Tickets of the jobs that name a pool that serves no queue, as many as it has free slots. */
  async #ticketsOfOtherPools(): Promise<readonly Ticket[]> {
    const { slots, jobs, caches } = this.#ports;
    const names = [...caches.pools.values()].map(({ metadata }) => metadata?.name ?? '');
    const others = names.filter((name) => !poolsOfQueues.includes(name) && slots.freeForTickets(name) > 0);
    const tickets = others.map((name) => jobs.waitingInPool(name, slots.freeForTickets(name)));
    return (await Promise.all(tickets)).flat();
  }

  /** Tickets of the image jobs that have waited longest, for their reserved slots while no other is free. */
  async #ticketsForReservedSlots(): Promise<readonly Ticket[]> {
    const { slots, jobs } = this.#ports;
    if (slots.freeForTickets(batchPool) > 0) return [];
    const limit = slots.freeForImages(batchPool);
    if (limit === 0) return [];
    const ids = await jobs.batchableIds(limit);
    const rows = await Promise.all(ids.map((id) => jobs.find(id)));
    return rows.flatMap((row) => (row === null ? [] : ticketOf(row)));
  }
}

/** Claims jobs with a priority above 0 as soon as slots are free, until `signal` aborts. */
export async function claimPreferred(
  { slots, caches, workQueue, storageWatch, log }: Term['ports'],
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await slots.claimed.nextChange(signal);
      if (storageWatch.isAway) continue;
      for (const jobId of await slots.claimPreferred()) workQueue.add(caches.keyOfJob(jobId) ?? '');
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, 'jobs could not be claimed by priority');
    }
  }
}
