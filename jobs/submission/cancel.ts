import { KnownProblem } from '#domain/errors.ts';
import type { ShownJob } from '#domain/jobs/job.ts';
import { jobErrorOf } from '#domain/job-error.ts';
import { isFinal } from '#domain/jobs/status.ts';
import type { JobDependencies } from '../dependencies.ts';
import { dequeue } from './enqueue.ts';

/** The dependencies of the cancellation of a job. */
export type CancelDependencies = Pick<JobDependencies, 'jobs' | 'queue' | 'randomUuid' | 'log'>;

/** More often than a job can change its attempt while one request is answered. */
const triesMax = 10;

/**
 * Cancels a queued or running job in its row. The attempt's executor notices when it renews its lease, or by its
 * MediaJob, and stops. Cancelling a cancelled job changes nothing.
 *
 * @throws KnownProblem `not_found`; `conflict` for a job that completed or failed
 */
export async function cancelJob(dependencies: CancelDependencies, jobId: string): Promise<ShownJob> {
  const { jobs, randomUuid } = dependencies;
  for (let tries = 0; tries < triesMax; tries++) {
    const job = await jobs.find(jobId);
    if (job === null) throw new KnownProblem('not_found', 'There is no such job.');
    if (job.status === 'cancelled') return job;
    if (isFinal(job.status)) throw new KnownProblem('conflict', `The job has ${job.status} already.`);
    // Null: its attempt changed or it ended since it was read, so it is read again.
    const cancelled = await jobs.finish({
      jobId: job.id,
      attempt: job.attempt,
      status: 'cancelled',
      results: null,
      error: jobErrorOf('cancelled', job.attempt),
      eventId: randomUuid(),
    });
    if (cancelled === null) continue;
    await dequeue(dependencies, job);
    return cancelled;
  }
  throw new KnownProblem('conflict', 'The job changes too fast to be cancelled; try again.');
}
