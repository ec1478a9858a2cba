import type { QueueName } from '#domain/jobs/routing.ts';
import type { Ticket } from '#domain/jobs/ticket.ts';

/** Tickets of one queue by state, for `svc_queue_tasks`. `retry`: waiting for the time of a later attempt. */
export interface QueueDepth {
  readonly pending: number;
  readonly active: number;
  readonly retry: number;
}

/** A ticket that a reader has taken. */
export interface TakenTicket {
  readonly ticket: Ticket;
  /** Removes it from the queue. */
  done(): Promise<void>;
  /** Makes it the next one of its priority again. */
  putBack(): Promise<void>;
}

export interface TicketReader {
  /** Waits for the next ticket; null once `signal` aborts. A ticket comes back when nothing is called in time. */
  next(signal: AbortSignal): Promise<TakenTicket | null>;
  close(): Promise<void>;
}

/** The queue of tickets: disposable, since Postgres is the truth and the sweeper adds lost tickets again. */
export interface TicketQueue {
  /** Adding a ticket that is there already changes nothing. `delayMs` puts off when it can be taken. */
  add(ticket: Ticket, options?: { readonly delayMs?: number }): Promise<void>;
  reader(queue: QueueName): TicketReader;
  depth(): Promise<Readonly<Record<QueueName, QueueDepth>>>;
  /** Removes every ticket of a job that was not taken. */
  remove(ticket: Pick<Ticket, 'jobId' | 'attempt' | 'queue'>): Promise<void>;
  ping(): Promise<void>;
  close(): Promise<void>;
}
