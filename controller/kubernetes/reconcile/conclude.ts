import { type JobError, jobErrorOf } from '#domain/job-error.ts';
import type { AttemptEnd } from '#domain/jobs/attempts.ts';
import type { Job } from '#domain/jobs/job.ts';
import type { UnitRun } from '#domain/work/unit-run.ts';
import {
  concludeAttempt,
  conclusionOf,
  type ConclusionDependencies,
  failJob as recordFailure,
} from '#jobs/completion/conclude-attempt.ts';
import { endAttempt, type EndedAttempt } from '#jobs/completion/end-attempt.ts';
import { hasReason } from '#platform/kubernetes/errors.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import { leaseOwner } from '../slots/claimed-jobs.ts';

export interface ConcludeDependencies extends ConclusionDependencies {
  readonly jobs: Pick<JobStore, 'finish' | 'nextAttempt' | 'claim'>;
}

/** An attempt that ended, or never began. */
interface ObservedAttempt {
  readonly row: Job;
  /** When its Job was created, by the API server's clock; null when there is none. */
  readonly begunAt: Date | null;
  /** The units that its pods ran. */
  readonly units: readonly UnitRun[];
  readonly isOfOtherVersion: boolean;
}

/**
 * Does what follows from the end of an attempt. Every part of it can be repeated.
 *
 * @throws KnownProblem `storage_error`, or an error of the database: try again
 */
export function concludeAndClaim(
  { row, begunAt, units, isOfOtherVersion }: ObservedAttempt,
  end: AttemptEnd,
  dependencies: ConcludeDependencies,
): Promise<EndedAttempt> {
  return endAttempt(
    {
      job: row,
      begunAt,
      run: () => Promise.resolve(end),
      conclude: () => concludeAttempt({ job: row, end, units, mayHaveCompleted: true, isOfOtherVersion }, dependencies),
      // An interrupted job keeps its slot instead of queueing again behind later jobs.
      claimNext: async ({ attempt }) =>
        (await dependencies.jobs.claim({ jobId: row.id, attempt, owner: leaseOwner, leaseMs: Infinity })) !== null,
    },
    dependencies,
  );
}

/** Ends a job whose attempt left no result manifest. */
export function failJob(
  { row, begunAt, units }: ObservedAttempt,
  error: JobError,
  dependencies: ConcludeDependencies,
): Promise<EndedAttempt> {
  return endAttempt(
    {
      job: row,
      begunAt,
      run: () => Promise.resolve({ kind: 'failed', exitCode: null, error }),
      conclude: async () => conclusionOf(await recordFailure({ job: row, error, units }, dependencies)),
    },
    dependencies,
  );
}

/** Fails a job whose object the API server refuses as invalid; whether `error` is such a refusal. */
export async function failIfRefused(row: Job, error: unknown, dependencies: ConcludeDependencies): Promise<boolean> {
  if (!hasReason(error, 'Invalid')) return false;
  dependencies.log.error({ err: error, job_id: row.id }, 'Job refused by the API server');
  const refused = jobErrorOf('internal', row.attempt, 'The cluster refuses the Job of this attempt.');
  await failJob({ row, begunAt: null, units: [], isOfOtherVersion: false }, refused, dependencies);
  return true;
}
