import type { Job } from '#domain/jobs/job.ts';
import type { QueueName } from '#domain/jobs/routing.ts';
import type { Ticket } from '#domain/jobs/ticket.ts';

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
  /**
   * Whether the executor will claim the job of a ticket itself, for a batch or once its own pool has a free slot;
   * admission then drops the ticket.
   */
  leaves?(ticket: Ticket): Promise<boolean>;
  /**
   * Tickets of waiting jobs that may start although no ticket of their queue may, in slots that are reserved for them
   * or of a pool that serves no queue. Absent: none are.
   */
  ticketsPastQueue?(): Promise<readonly Ticket[]>;
  /**
   * How many pods of a queue's pool are at work, as its concurrency counts them; 0 without the lead. Absent: the
   * claimed jobs in the database are.
   */
  activePods?(queue: QueueName): number;
  /** Starts the attempt of a claimed job and returns at once. A second call for the same attempt changes nothing. */
  run(job: Job): Promise<void>;
  /** Stops the running attempts as disruptions, so that another worker takes them. `signal` aborts at the deadline. */
  stop(signal: AbortSignal): Promise<void>;
}
