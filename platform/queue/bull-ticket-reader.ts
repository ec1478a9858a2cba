import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ErrorCode } from 'bullmq';
import type { QueueName } from '#domain/jobs/routing.ts';
import type { Ticket } from '#domain/jobs/ticket.ts';
import { externalWrite } from '../external-writes/external-write.ts';
import type { Logger } from '../telemetry/logger.ts';
import { withTimeout } from '../lifecycle/with-timeout.ts';
import type { TakenTicket, TicketReader } from './ticket-queue.ts';

/** The part that is used of a ticket that BullMQ handed out. */
export interface TakenBullJob {
  readonly id?: string | undefined;
  readonly data: Ticket;
  moveToCompleted(value: undefined, token: string, fetchNext: false): Promise<unknown>;
  moveToWait(token: string): Promise<unknown>;
}

/** The part that is used of a BullMQ `Worker` without a processor, whatever stands behind it. */
export interface TicketWorker {
  getNextJob(token: string, options: { block: boolean }): Promise<TakenBullJob | undefined>;
  startStalledCheckTimer(): Promise<void>;
  waitUntilReady(): Promise<void>;
  close(force: boolean): Promise<void>;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

/**
 * How long a ticket is locked for its reader, and how often locks that lapsed are looked for. A ticket whose reader died
 * returns after at most the lock and twice that interval, any number of times.
 */
export interface TicketLock {
  readonly durationMs: number;
  readonly checkEveryMs: number;
}

/** A ticket is locked until `done`: a claim in Postgres and the start of the work, well below a second. */
const ticketLock: TicketLock = { durationMs: 5_000, checkEveryMs: 2_000 };

/** Settings of every worker. `drainDelay` (seconds) is how long one blocking wait lasts. */
export function workerSettings({ durationMs, checkEveryMs } = ticketLock) {
  return { autorun: false, lockDuration: durationMs, stalledInterval: checkEveryMs, drainDelay: 2 };
}

interface ReaderOptions {
  readonly queue: QueueName;
  readonly open: () => TicketWorker;
  readonly log: Logger;
  readonly onClose: () => void;
}

const retryPauseMs = 500;
const answerTimeoutMs = 2_000;
/** The ticket is not, or no longer, this reader's: the queue was wiped, or `done` came after the lock had expired. */
const lostTicketCodes = [
  ErrorCode.JobNotExist,
  ErrorCode.JobLockNotExist,
  ErrorCode.JobNotInState,
  ErrorCode.JobLockMismatch,
];

/**
 * Takes tickets one at a time, and only while a caller waits in `next`.
 *
 * BullMQ's blocking fetch cannot be cancelled. After an abort it continues for at most `drainDelay`, serves the next
 * caller, and puts a ticket back when there is none.
 */
export class BullTicketReader implements TicketReader {
  readonly #options: ReaderOptions;
  readonly #askers: ((taken: TakenTicket | null) => void)[] = [];
  #worker: TicketWorker | undefined;
  #isFetching = false;
  #closing: Promise<void> | undefined;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  next(signal: AbortSignal): Promise<TakenTicket | null> {
    if (signal.aborted || this.#closing !== undefined) return Promise.resolve(null);
    const { promise, resolve } = Promise.withResolvers<TakenTicket | null>();
    const asker = (taken: TakenTicket | null) => {
      signal.removeEventListener('abort', abort);
      resolve(taken);
    };
    const abort = () => {
      this.#askers.splice(this.#askers.indexOf(asker), 1);
      resolve(null);
    };
    signal.addEventListener('abort', abort, { once: true });
    this.#askers.push(asker);
    void this.#fetch();
    return promise;
  }

  close(): Promise<void> {
    this.#closing ??= (async () => {
      for (const asker of this.#askers.splice(0)) asker(null);
      this.#options.onClose();
      await this.#drop();
    })();
    return this.#closing;
  }

  /** One fetch at a time, while callers wait. An error is retried here, so callers only ever wait for a ticket. */
  async #fetch(): Promise<void> {
    if (this.#isFetching) return;
    this.#isFetching = true;
    while (this.#askers.length > 0) {
      try {
        await this.#fetchOne();
      } catch (error) {
        if (this.#closing !== undefined) break;
        this.#options.log.warn({ err: error, queue: this.#options.queue }, 'queue poll failed');
        await sleep(retryPauseMs);
      }
    }
    this.#isFetching = false;
  }

  async #fetchOne(): Promise<void> {
    const worker = this.#worker ?? (await this.#open());
    const token = randomUUID();
    const job = await worker.getNextJob(token, { block: true });
    if (job === undefined) return;
    const asker = this.#askers.shift();
    if (asker === undefined) await job.moveToWait(token);
    else asker({ ticket: job.data, done: () => this.#done(job, token), putBack: () => this.#putBack(job, token) });
  }

  async #open(): Promise<TicketWorker> {
    const worker = this.#options.open();
    this.#worker = worker;
    worker.on('error', (error) =>
      this.#options.log.debug({ err: error, queue: this.#options.queue }, 'ticket reader connection failed'),
    );
    try {
      await worker.waitUntilReady();
      await worker.startStalledCheckTimer();
      return worker;
    } catch (error) {
      await this.#drop();
      throw error;
    }
  }

  async #drop(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    // By force: a blocking fetch holds the connection. What it may have taken comes back like any reader's ticket.
    if (worker !== undefined) await withTimeout(worker.close(true), answerTimeoutMs, 'no end').catch(() => undefined);
  }

  /**
   * Never throws: a ticket that could not be removed comes back, and finds that its attempt can no longer be claimed.
   */
  async #done(job: TakenBullJob, token: string): Promise<void> {
    try {
      await externalWrite(
        () => ({ kind: 'ticket', name: `take from ${this.#options.queue}` }),
        () => withTimeout(job.moveToCompleted(undefined, token, false), answerTimeoutMs, 'no answer'),
      );
    } catch (error) {
      if (isLost(error)) return;
      this.#options.log.warn({ err: error, ticket: job.id }, 'a ticket could not be removed; it comes back');
    }
  }

  /** Never throws: a ticket that could not be put back comes back once its lock has expired. */
  async #putBack(job: TakenBullJob, token: string): Promise<void> {
    try {
      await withTimeout(job.moveToWait(token), answerTimeoutMs, 'no answer');
    } catch (error) {
      if (isLost(error)) return;
      this.#options.log.warn({ err: error, ticket: job.id }, 'a ticket could not be put back yet');
    }
  }
}

/** Whether the ticket is not this reader's, or no longer. */
function isLost(error: unknown): boolean {
  return lostTicketCodes.includes((error as { code?: ErrorCode }).code as ErrorCode);
}
