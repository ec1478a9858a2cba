import type { QueueName } from './routing.ts';

/** The highest priority of a job; the lowest is as far below 0. */
export const priorityMax = 1000;

/** The lowest priority of jobs: every other waiting job begins before a rerun of a rollout. */
export const rolloutPriority = -priorityMax;

/**
 * A line in a queue that says "this attempt of this job wants to run". Losing one loses nothing: the row is the truth.
 */
export interface Ticket {
  readonly jobId: string;
  /** Counts from 1; part of the ticket's id, since a queue ignores an id that it still holds. */
  readonly attempt: number;
  readonly queue: QueueName;
  /** At least -`priorityMax`, 0 when absent. A queue's tickets are taken by it, the highest first, then in order. */
  readonly priority?: number;
  /** The pool that the job names, where it names one. */
  readonly pool?: string;
  /** The API key that asked for the job, where one did. */
  readonly keyId?: string;
  /** W3C trace context of the submission. */
  readonly trace?: { readonly traceparent: string; readonly tracestate?: string };
}

/** The id of a ticket, unique for each attempt. */
export function ticketId(ticket: Pick<Ticket, 'jobId' | 'attempt'>): string {
  return `${ticket.jobId}:${ticket.attempt}`;
}
