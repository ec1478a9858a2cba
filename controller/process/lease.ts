import { setTimeout as sleep } from 'node:timers/promises';
import type { Job } from '#domain/jobs/job.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';

/** Why a running attempt is stopped from outside. */
export type StopReason =
  /** Another worker has the job; nothing of this attempt counts any more. */
  | 'lost'
  /** The caller cancelled the job; its row is final already. */
  | 'cancelled'
  /** This worker ends; the job is given up for another one. */
  | 'stopping';

interface LeaseInput {
  readonly jobs: Pick<JobStore, 'renewLease'>;
  readonly job: Pick<Job, 'id' | 'attempt'>;
  readonly owner: string;
  readonly leaseMs: number;
  readonly log: Logger;
  readonly onLoss: (reason: 'lost' | 'cancelled') => void;
  /** Ends the renewing. */
  readonly signal: AbortSignal;
}

/** A cancelled job's processes must be gone within five seconds: half a one to notice, three to end, the rest to spare. */
const lookEveryMsMax = 500;
/** A connection that has hung for so long is given up for another. */
const answerMsMax = 2_000;

/**
 * Renews a job's lease until `signal` aborts or the lease is gone.
 *
 * A database that cannot be reached is no loss: it cannot give the job to another worker either. The work goes on, and
 * the first answer decides; should another worker have the job by then, both wrote under revisions of their own.
 */
export async function keepLease({ jobs, job, owner, leaseMs, log, onLoss, signal }: LeaseInput): Promise<void> {
  const everyMs = Math.min(lookEveryMsMax, leaseMs / 3);
  while (!signal.aborted) {
    await sleep(everyMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      const renewing = jobs.renewLease({ jobId: job.id, attempt: job.attempt, owner, leaseMs });
      const state = await withinMs(renewing, answerMsMax);
      if (state === 'held') continue;
      onLoss(state);
      return;
    } catch (error) {
      log.warn(
        { err: error, job_id: job.id, attempt: job.attempt },
        'the lease could not be renewed; the work goes on',
      );
    }
  }
}

/** A connection that hangs must not hold up the next try, which may get a better one. */
async function withinMs<T>(answer: Promise<T>, timeoutMs: number): Promise<T> {
  const timer = new AbortController();
  const late = sleep(timeoutMs, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`no answer within ${timeoutMs} ms`);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    timer.abort();
    for (const promise of [answer, late]) promise.catch(() => undefined);
  }
}
