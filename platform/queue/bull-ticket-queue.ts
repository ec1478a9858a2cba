import type { JobsOptions } from 'bullmq';
import { poolOfQueue, type QueueName, queueNames } from '#domain/jobs/routing.ts';
import { priorityMax, type Ticket, ticketId } from '#domain/jobs/ticket.ts';
import { externalWrite } from '../external-writes/external-write.ts';
import type { Logger } from '../telemetry/logger.ts';
import { CoalescedCalls } from '#platform/concurrency/coalesced-calls.ts';
import { BullTicketReader, type TicketWorker } from './bull-ticket-reader.ts';
import { withTimeout } from '../lifecycle/with-timeout.ts';
import type { QueueDepth, TicketQueue, TicketReader } from './ticket-queue.ts';

/** The part that is used of a BullMQ `Queue`, whatever stands behind it. */
export interface TicketList {
  addBulk(jobs: { name: string; data: Ticket; opts: JobsOptions }[]): Promise<unknown>;
  remove(id: string): Promise<number>;
  getJobCounts(...states: ('waiting' | 'prioritized' | 'delayed' | 'active')[]): Promise<Record<string, number>>;
  waitUntilReady(): Promise<void>;
  close(): Promise<void>;
  disconnect(): Promise<void>;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

/**
 * How to reach one of BullMQ's stores. BullMQ allows no ":" in a queue's name, so queues have their pools' names there.
 */
export interface TicketStore {
  openList(name: string): TicketList;
  openWorker(name: string): TicketWorker;
}

interface OpenList {
  readonly list: TicketList;
  readonly isReady: Promise<void>;
}

interface Addition {
  readonly ticket: Ticket;
  /** At least 0. */
  readonly delayMs: number;
}

/** Several at once, to limit head-of-line blocking while the store does not answer. */
const additionLimits = { sizeMax: 500, atOnceMax: 4 } as const;

/** Longer than this, no caller waits for the store: a submission then answers 500. */
const answerTimeoutMs = 2_000;

/**
 * Tickets as BullMQ jobs.
 *
 * A ticket's id is made of the job and its attempt, so adding it again does nothing. Finished tickets are removed at
 * once, since BullMQ ignores an id that it remembers. A reader that dies, or does not call `done` within seconds, gives
 * its ticket back.
 *
 * Connections are opened at their first use, and again at the next call when that failed: a store may be down when the
 * process starts.
 */
export class BullTicketQueue implements TicketQueue {
  readonly #store: TicketStore;
  readonly #log: Logger;
  readonly #additions: Readonly<Record<QueueName, CoalescedCalls<Addition, void>>>;
  readonly #lists = new Map<QueueName, OpenList>();
  readonly #readers = new Set<BullTicketReader>();
  #isClosed = false;

  constructor(store: TicketStore, log: Logger) {
    this.#store = store;
    this.#log = log;
    const coalescedFor = (queue: QueueName) =>
      new CoalescedCalls<Addition, void>({ run: (additions) => this.#addAll(queue, additions), ...additionLimits });
    this.#additions = { default: coalescedFor('default'), 'video:large': coalescedFor('video:large') };
  }

  async add(ticket: Ticket, options: { readonly delayMs?: number } = {}): Promise<void> {
    await this.#additions[ticket.queue].add({ ticket, delayMs: Math.max(0, options.delayMs ?? 0) });
  }

  /** Tickets that come together are added together: all of them, or none and every caller gets the error. */
  async #addAll(queue: QueueName, additions: readonly Addition[]): Promise<void[]> {
    const jobs = additions.map(({ ticket, delayMs }) => ({
      name: 'ticket',
      data: ticket,
      opts: { jobId: bullId(ticket), delay: delayMs, priority: bullPriority(ticket) },
    }));
    await externalWrite(
      () => ({ kind: 'ticket', name: `add to ${queue}` }),
      () => this.#call(queue, (list) => list.addBulk(jobs)),
    );
    return additions.map(() => undefined);
  }

  reader(queue: QueueName): TicketReader {
    const open = () => this.#store.openWorker(poolOfQueue[queue]);
    const reader = new BullTicketReader({ queue, open, log: this.#log, onClose: () => this.#readers.delete(reader) });
    this.#readers.add(reader);
    return reader;
  }

  async depth(): Promise<Readonly<Record<QueueName, QueueDepth>>> {
    const depths = await Promise.all(
      queueNames.map(async (queue): Promise<[QueueName, QueueDepth]> => {
        const counts = await this.#call(queue, (list) =>
          list.getJobCounts('waiting', 'prioritized', 'delayed', 'active'),
        );
        const { waiting = 0, prioritized = 0, delayed = 0, active = 0 } = counts;
        return [queue, { pending: waiting + prioritized, active, retry: delayed }];
      }),
    );
    return Object.fromEntries(depths) as Record<QueueName, QueueDepth>;
  }

  async remove(ticket: Pick<Ticket, 'jobId' | 'attempt' | 'queue'>): Promise<void> {
    await externalWrite(
      () => ({ kind: 'ticket', name: `remove from ${ticket.queue}` }),
      () => this.#call(ticket.queue, (list) => list.remove(bullId(ticket))),
    );
  }

  async ping(): Promise<void> {
    await this.#call('default', (list) => list.getJobCounts('waiting'));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#readers].map((reader) => reader.close()));
    const lists = [...this.#lists.values()];
    this.#lists.clear();
    await Promise.all(lists.map(({ list }) => closeList(list)));
  }

  async #call<T>(queue: QueueName, work: (list: TicketList) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new Error('the ticket queue is closed');
    const startedAt = performance.now();
    const answer = (async () => {
      const { list, isReady } = this.#lists.get(queue) ?? this.#open(queue);
      await isReady;
      // The caller has given up: a ticket that was refused must not be added later.
      if (performance.now() - startedAt > answerTimeoutMs) throw new Error('the ticket queue was opened too late');
      return await work(list);
    })();
    return await withTimeout(answer, answerTimeoutMs, 'the ticket queue does not answer');
  }

  #open(queue: QueueName): OpenList {
    const list = this.#store.openList(poolOfQueue[queue]);
    list.on('error', (error) => this.#log.debug({ err: error, queue }, 'ticket queue connection failed'));
    const open = { list, isReady: list.waitUntilReady() };
    this.#lists.set(queue, open);
    open.isReady.catch(() => {
      this.#lists.delete(queue);
      void closeList(list);
    });
    return open;
  }
}

/** BullMQ allows a ":" in ids only where it makes them itself. */
function bullId(ticket: Pick<Ticket, 'jobId' | 'attempt'>): string {
  return ticketId(ticket).replaceAll(':', '.');
}

/** The priority for BullMQ, from 1: it takes tickets without one first, and then those with the lowest number. */
function bullPriority({ priority = 0 }: Ticket): number {
  return priorityMax + 1 - priority;
}

/** Says goodbye; when the store is away, the connection is dropped instead. */
async function closeList(list: TicketList): Promise<void> {
  try {
    await withTimeout(list.close(), 1_000, 'the ticket queue does not close');
  } catch {
    await list.disconnect().catch(() => undefined);
  }
}
