import type { Job } from '#domain/jobs/job.ts';
import type { QueueName } from '#domain/jobs/routing.ts';

/**
 * The port that both executors stand behind: `process` runs the runner as child processes of this worker,
 * `kubernetes` as pods. Admission claims a job in the executor's name and hands it over; from then on the executor
 * alone moves it to its end.
 */
export interface Executor {
  readonly name: 'kubernetes' | 'process';
  /** In whose name admission claims a job, and for how long a claim holds; `Infinity`: until it is given up. */
  readonly lease: { readonly owner: string; readonly durationMs: number };
  /** How many more jobs of `queue` may be handed over now; never negative. */
  freeSlots(queue: QueueName): number;
  /** Waits until `freeSlots` is above 0; rejects with the signal's reason once it aborts. */
  whenFree(queue: QueueName, signal: AbortSignal): Promise<void>;
  /** Makes sure that the work of a claimed job exists, and returns at once. Called again for the same attempt, it changes nothing. */
  run(job: Job): Promise<void>;
  /** Gives up what runs, as a disruption, so that the next worker takes it. `signal` aborts at the deadline. */
  stop(signal: AbortSignal): Promise<void>;
}
