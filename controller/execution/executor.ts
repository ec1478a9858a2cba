import type { Job } from '#domain/jobs/job.ts';
import type { QueueName } from '#domain/jobs/routing.ts';
import type { Ticket } from '#domain/jobs/ticket.ts';
import type { PoolTurns } from './pool-turns.ts';

/**
 * The interface of both executors: `process` runs the runner as child processes of this worker, `kubernetes` as pods.
 * Admission claims a job under the executor's `lease` and calls `run`; from then on the executor alone moves the job to
 * its end.
 */
export interface Executor {
  readonly name: 'kubernetes' | 'process';
  /** The owner under which admission claims a job, and how long a claim holds; `Infinity`: until it is released. */
  readonly lease: { readonly owner: string; readonly durationMs: number };
  start(): Promise<void>;
  /** How many more jobs of `queue` may be started now; never negative. */
  freeSlots(queue: QueueName): number;
  /** Waits until `freeSlots` is above 0; rejects with the signal's reason once it aborts. */
  whenFree(queue: QueueName, signal: AbortSignal): Promise<void>;
  /** Whose turn it is in the pools. */
  readonly turns: PoolTurns;
  /** The pool of which the job of a ticket takes a slot. */
  poolOf(ticket: Pick<Ticket, 'queue' | 'pool'>): string;
  /** Whether admission claims the job of a ticket; else the executor will claim it, and the ticket is dropped. */
  admits(ticket: Ticket): Promise<boolean>;
  /** Tickets of the next jobs that may start although no ticket of their queue may, in slots that are kept for them. */
  ticketsPastQueue(): Promise<readonly Ticket[]>;
  /** How many jobs of a queue are at work, as the concurrency counts them; null: as many as the database has. */
  activePods(queue: QueueName): number | null;
  /** Starts the attempt of a claimed job and returns at once. A second call for the same attempt changes nothing. */
  run(job: Job): Promise<void>;
  /** Stops the running attempts as disruptions, so that another worker takes them. `signal` aborts at the deadline. */
  stop(signal: AbortSignal): Promise<void>;
}
