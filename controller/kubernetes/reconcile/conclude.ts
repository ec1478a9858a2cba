import { type JobError, jobErrorOf } from '#domain/job-error.ts';
import type { AttemptEnd } from '#domain/jobs/attempts.ts';
import type { Job } from '#domain/jobs/job.ts';
import {
  type AttemptResult,
  concludeAttempt,
  type ConclusionDependencies,
  countAttempt,
  enqueueNextAttempt,
  failJob as recordFailure,
  resultOf,
} from '#jobs/conclude-attempt.ts';
import { hasReason } from '#platform/kubernetes/errors.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import { withSpan } from '#platform/telemetry/tracing.ts';
import { leaseOwner } from '../slots/claimed-jobs.ts';

export interface ConcludeDependencies extends ConclusionDependencies {
  readonly jobs: Pick<JobStore, 'finish' | 'nextAttempt' | 'claim'>;
  readonly clock: () => Date;
}

/** An attempt that ended, or never began. */
export interface EndedAttempt {
  readonly row: Job;
  /** When its Job was created, by the API server's clock; null when there is none. */
  readonly begunAt: Date | null;
}

/** The job is final or another process's; the next attempt is claimed; or it waits for admission. */
export type AttemptOutcome = 'job_ended' | 'next_claimed' | 'next_queued';

/**
 * Does what follows from the end of an attempt. Every part of it can be repeated.
 *
 * @throws KnownProblem `storage_error`, or an error of the database: try again
 */
export function concludeAndClaim(
  attempt: EndedAttempt,
  end: AttemptEnd,
  dependencies: ConcludeDependencies,
): Promise<AttemptOutcome> {
  const { row, begunAt: startedAt } = attempt;
  const attributes = { 'job.id': row.id, 'job.type': row.type, 'job.attempt': row.attempt };
  return withSpan('attempt', { parent: row.trace, kind: 'consumer', attributes, startedAt }, () =>
    withSpan('completion', {}, () => conclude(attempt, end, dependencies)),
  );
}

async function conclude(
  attempt: EndedAttempt,
  end: AttemptEnd,
  dependencies: ConcludeDependencies,
): Promise<AttemptOutcome> {
  const { row } = attempt;
  const conclusion = await concludeAttempt({ job: row, end, mayHaveCompleted: true }, dependencies);
  if (conclusion.kind === 'not_current') return 'job_ended';
  count(attempt, resultOf(conclusion), dependencies);
  if (conclusion.kind === 'ended') return 'job_ended';
  // An interrupted job keeps its slot instead of queueing again behind later jobs.
  if (conclusion.delayMs === 0) {
    const claim = { jobId: row.id, attempt: conclusion.ticket.attempt, owner: leaseOwner, leaseMs: Infinity };
    if ((await dependencies.jobs.claim(claim)) !== null) return 'next_claimed';
  }
  await enqueueNextAttempt(conclusion, dependencies);
  return 'next_queued';
}

/** Ends a job whose attempt left no result manifest. */
export async function failJob(
  attempt: EndedAttempt,
  error: JobError,
  dependencies: ConcludeDependencies,
): Promise<'job_ended'> {
  await recordFailure({ job: attempt.row, error }, dependencies);
  count(attempt, 'failed', dependencies);
  return 'job_ended';
}

/** Fails a job whose object the API server refuses as invalid; whether `error` is such a refusal. */
export async function failIfRefused(row: Job, error: unknown, dependencies: ConcludeDependencies): Promise<boolean> {
  if (!hasReason(error, 'Invalid')) return false;
  dependencies.log.error({ err: error, job_id: row.id }, 'Job refused by the API server');
  const refused = jobErrorOf('internal', row.attempt, 'The cluster refuses the Job of this attempt.');
  await failJob({ row, begunAt: null }, refused, dependencies);
  return true;
}

function count({ row, begunAt }: EndedAttempt, result: AttemptResult, { metrics, clock }: ConcludeDependencies): void {
  const seconds = begunAt === null ? null : (clock().getTime() - begunAt.getTime()) / 1000;
  countAttempt(metrics, { type: row.type, result, seconds });
}
