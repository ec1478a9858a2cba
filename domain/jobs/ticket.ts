import type { QueueName } from './routing.ts';

/**
 * A line in a queue that says "this attempt of this job wants to run". Losing one loses nothing: the row is the truth.
 */
export interface Ticket {
  readonly jobId: string;
  /** Counts from 1; part of the ticket's id, since a queue ignores an id that it still holds. */
  readonly attempt: number;
  readonly queue: QueueName;
  /** -1000 to 1000, 0 when absent: tickets below 0 are taken after all others, the lowest last. */
  readonly priority?: number;
  /** W3C trace context of the submission. */
  readonly trace?: { readonly traceparent: string; readonly tracestate?: string };
}

/** The id of a ticket, unique for each attempt. */
export function ticketId(ticket: Pick<Ticket, 'jobId' | 'attempt'>): string {
  return `${ticket.jobId}:${ticket.attempt}`;
}
