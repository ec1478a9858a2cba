import type { Job } from '#domain/jobs/job.ts';
import type { Ticket } from '#domain/jobs/ticket.ts';
import type { JobDependencies } from '../dependencies.ts';

/** The ticket of the attempt that a job is at. */
export function ticketOf({ id, attempt, queue, pool, priority, keyId, trace }: Job): Ticket {
  const order = {
    ...(pool === null ? {} : { pool }),
    ...(priority === 0 ? {} : { priority }),
    ...(keyId === null ? {} : { keyId }),
  };
  return { jobId: id, attempt, queue, ...order, ...(trace === null ? {} : { trace }) };
}

/** Whether a job waits for a quota of its key: it gets its ticket when it is released. */
const isHeld = ({ waitingReason }: Job) => waitingReason?.code === 'key_quota';

/**
 * Puts a job's ticket into its queue; a ticket that is there already stays one, by its id. @throws the queue's error
 */
export async function enqueue({ queue }: Pick<JobDependencies, 'queue'>, job: Job): Promise<void> {
  if (!isHeld(job)) await queue.add(ticketOf(job));
}

/** Puts a job's ticket into its queue; one that cannot be added now is left to the sweeper. */
export async function enqueueOrLeave({ queue, log }: Pick<JobDependencies, 'queue' | 'log'>, job: Job): Promise<void> {
  try {
    await enqueue({ queue }, job);
  } catch (error) {
    log.warn({ err: error, job_id: job.id }, 'ticket not added, the sweeper adds it');
  }
}

/** Takes a job's ticket out of its queue. Only tidiness: whoever takes the ticket of a final job drops it. */
export async function dequeue({ queue, log }: Pick<JobDependencies, 'queue' | 'log'>, job: Job): Promise<void> {
  try {
    await queue.remove(ticketOf(job));
  } catch (error) {
    log.warn({ err: error, job_id: job.id }, 'ticket removal failed');
  }
}
