import type { JobError } from '#domain/job-error.ts';
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
import type { JobStore } from '#platform/postgres/job-store.ts';
import { withSpan } from '#platform/telemetry/tracing.ts';

export interface SettleDependencies extends ConclusionDependencies {
  readonly jobs: Pick<JobStore, 'finish' | 'nextAttempt' | 'claim'>;
}

/** In whose name jobs are claimed that run on Kubernetes. Any leader may go on with them, so it is one name for all. */
export const leaseOwner = 'kubernetes';

/** An attempt that ended, or never began. */
export interface EndedAttempt {
  readonly row: Job;
  /** When its Job was created, by the API server's clock; null when there is none. */
  readonly begunAt: Date | null;
}

/** What became of the attempt: the job is over, the next attempt is claimed, or it waits for admission. */
export type Settled = 'over' | 'claimed' | 'given_up';

/**
 * Does what follows from the end of an attempt. Every part of it can be repeated.
 *
 * @throws KnownProblem `storage_error`, or an error of the database: try again
 */
export function settleAttempt(
  attempt: EndedAttempt,
  end: AttemptEnd,
  dependencies: SettleDependencies,
): Promise<Settled> {
  const { row, begunAt: startedAt } = attempt;
  const attributes = { 'job.id': row.id, 'job.type': row.type, 'job.attempt': row.attempt };
  return withSpan('attempt', { parent: row.trace, kind: 'consumer', attributes, startedAt }, () =>
    withSpan('completion', {}, () => settle(attempt, end, dependencies)),
  );
}

async function settle(attempt: EndedAttempt, end: AttemptEnd, dependencies: SettleDependencies): Promise<Settled> {
  const { row } = attempt;
  const conclusion = await concludeAttempt({ job: row, end, mayHaveCompleted: true }, dependencies);
  if (conclusion.kind === 'not_current') return 'over';
  count(attempt, resultOf(conclusion), dependencies);
  if (conclusion.kind === 'ended') return 'over';
  // What was interrupted keeps its slot instead of waiting behind everything that came later.
  if (conclusion.delayMs === 0) {
    const claim = { jobId: row.id, attempt: conclusion.ticket.attempt, owner: leaseOwner, leaseMs: Infinity };
    if ((await dependencies.jobs.claim(claim)) !== null) return 'claimed';
  }
  await enqueueNextAttempt(conclusion, dependencies);
  return 'given_up';
}

/** Ends a job whose attempt left no result manifest. */
export async function failJob(
  attempt: EndedAttempt,
  error: JobError,
  dependencies: SettleDependencies,
): Promise<'over'> {
  await recordFailure({ job: attempt.row, error }, dependencies);
  count(attempt, 'failed', dependencies);
  return 'over';
}

function count({ row, begunAt }: EndedAttempt, result: AttemptResult, { metrics, clock }: SettleDependencies): void {
  const seconds = begunAt === null ? null : (clock().getTime() - begunAt.getTime()) / 1000;
  countAttempt(metrics, { type: row.type, result, seconds });
}
