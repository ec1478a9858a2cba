import { setTimeout as sleep } from 'node:timers/promises';
import type { Job } from '#domain/jobs/job.ts';
import type { UsedTime } from '#domain/work/used-time.ts';
import { withTimeout } from '#platform/lifecycle/with-timeout.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';

/** Why a running attempt is stopped. */
export type StopReason =
  /** Another worker has the job; this attempt records nothing more. */
  | 'lost'
  /** The caller cancelled the job; its row is already final. */
  | 'cancelled'
  /** This worker is stopping; the job is released for another one. */
  | 'stopping';

interface LeaseInput {
  readonly jobs: Pick<JobStore, 'renewLease' | 'leaseState'>;
  readonly job: Pick<Job, 'id' | 'attempt'>;
  readonly owner: string;
  readonly leaseMs: number;
  readonly log: Logger;
  /** What the attempt has used so far, which each renewal records: it is what counts if this process is killed. */
  readonly used: () => UsedTime | null;
  readonly onLoss: (reason: 'lost' | 'cancelled') => void;
  /** Ends the renewals. */
  readonly signal: AbortSignal;
}

/** A cancelled job's processes end within 5 s: 0.5 s to notice, 3 s to end, the rest to spare. */
const checkEveryMsMax = 500;
/** A connection that has hung for this long is abandoned for another. */
const answerMsMax = 2_000;

/**
 * Renews a job's lease until `signal` aborts or the lease is lost: three times in its duration, since each renewal
 * writes the row. In between the row is read, so that a cancellation is noticed soon.
 *
 * The work continues while the database is away, since no other worker can get the job either. If another one has it
 * afterwards, each has written under its own revision.
 */
export async function keepLease({ jobs, job, owner, leaseMs, log, used, onLoss, signal }: LeaseInput): Promise<void> {
  const renewEveryMs = leaseMs / 3;
  const checkEveryMs = Math.min(checkEveryMsMax, renewEveryMs);
  const lease = { jobId: job.id, attempt: job.attempt, owner };
  let renewedAt = performance.now();
  while (!signal.aborted) {
    await sleep(checkEveryMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      const startedAt = performance.now();
      const isDue = startedAt - renewedAt >= renewEveryMs - checkEveryMs;
      const answer = isDue ? jobs.renewLease({ ...lease, leaseMs, used: used() }) : jobs.leaseState(lease);
      // A connection that hangs must not delay the next check, which may get a better one.
      const state = await withTimeout(answer, answerMsMax, 'the database did not answer');
      if (isDue) renewedAt = startedAt;
      if (state === 'held') continue;
      onLoss(state);
      return;
    } catch (error) {
      log.warn({ err: error, job_id: job.id, attempt: job.attempt }, 'lease renewal failed');
    }
  }
}
