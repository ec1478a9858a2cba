import { poolOfQueue, type QueueName } from '#domain/jobs/routing.ts';
import type { Ticket } from '#domain/jobs/ticket.ts';
import { ticketOf } from '#jobs/submission/enqueue.ts';
import { batchPool } from '../batches/batch.ts';
import type { Batches } from '../batches/batches.ts';
import type { Term } from './term.ts';

/** The ports that claiming needs. */
export interface ClaimPorts extends Pick<Term['ports'], 'caches' | 'jobs' | 'runnerNamespace' | 'slots' | 'turns'> {
  readonly batches: Pick<Batches, 'leaves'>;
  /** Whether this leader may claim jobs now. */
  readonly mayClaim: () => boolean;
}

/** So many image jobs are read to find one: one of each key, of as many keys. */
const imagesRead = 100;
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

  /** Tickets of the next jobs of pools that no queue serves, and of the next image job for a slot kept for these. */
  async ticketsPastQueue(): Promise<readonly Ticket[]> {
    if (!this.#ports.mayClaim()) return [];
    return [...(await this.#ticketForReservedSlot()), ...(await this.#ticketsOfOtherPools())];
  }

  /** For each pool that serves no queue and has a free slot, the waiting job whose turn it is. */
  async #ticketsOfOtherPools(): Promise<readonly Ticket[]> {
    const { slots, turns, caches } = this.#ports;
    const names = [...caches.pools.values()].map(({ metadata }) => metadata?.name ?? '');
    const others = names.filter((name) => !poolsOfQueues.includes(name) && slots.freeForTickets(name) > 0);
    const orders = await Promise.all(others.map((name) => turns.order(name)));
    return orders.flatMap(([first]) => first?.ticket ?? []);
  }

  /** The image job whose turn it is, for a slot that is reserved for these while no other is free. */
  async #ticketForReservedSlot(): Promise<readonly Ticket[]> {
    const { slots, jobs, turns } = this.#ports;
    if (slots.freeForTickets(batchPool) > 0 || slots.freeForImages(batchPool) === 0) return [];
    const images = await jobs.batchables(imagesRead);
    const keys = (await turns.order(batchPool)).map(({ key }) => key);
    const first = keys.flatMap((key) => images.find((image) => image.key === key) ?? [])[0] ?? images[0];
    const row = first === undefined ? null : await jobs.find(first.id);
    return row === null ? [] : [ticketOf(row)];
  }
}

/** Gives free slots to jobs that go before tickets, or gave theirs up, as soon as there are some, until `signal` aborts. */
export async function claimPreferred(
  { slots, caches, workQueue, storageWatch, log }: Term['ports'],
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await slots.claimed.nextChange(signal);
      if (storageWatch.isAway) continue;
      for (const jobId of await slots.claimPreferred()) workQueue.add(caches.keyOfJob(jobId) ?? '');
      await slots.resumeInTurn();
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, 'jobs could not be claimed by priority');
    }
  }
}
