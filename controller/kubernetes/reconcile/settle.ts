import { type AttemptEnd, verdictOf } from '#domain/jobs/attempts.ts';
import { fullResultsOfSourceFailure } from '#domain/job-types/full-results.ts';
import { type JobError, jobErrorOf } from '#domain/job-error.ts';
import type { Job } from '#domain/jobs/job.ts';
import { exitCodes } from '#domain/exit-codes.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { TicketQueue } from '#platform/queue/ticket-queue.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import { withSpan } from '#platform/telemetry/tracing.ts';
import { completeAttempt, type CompletionDependencies, recordEnd } from '#jobs/complete-attempt.ts';

export interface SettleDependencies extends CompletionDependencies {
  readonly jobs: Pick<JobStore, 'finish' | 'nextAttempt' | 'claim'>;
  readonly queue: Pick<TicketQueue, 'add'>;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** 0 ≤ random < 1. */
  readonly random: () => number;
  readonly attemptsMax: number;
}

/** In whose name jobs are claimed that run on Kubernetes. Any leader may go on with them, so it is one name for all. */
export const leaseOwner = 'kubernetes';

/** An attempt that ended, or never began. */
export interface EndedAttempt {
  readonly row: Job;
  /** When its Job was made, by the API server's clock; null: none was, or it is gone. */
  readonly begunAt: Date | null;
}

/** What became of the attempt: the job is over, the next attempt is claimed, or it waits for admission. */
export type Settled = 'over' | 'claimed' | 'given_up';

/**
 * Does what follows from the end of an attempt. Every part of it can be repeated: completion is, and the transitions
 * are guarded by the attempt.
 *
 * @throws KnownProblem `storage_error`, or an error of the database: try again
 */
export function settleAttempt(attempt: EndedAttempt, end: AttemptEnd, d: SettleDependencies): Promise<Settled> {
  const { row, begunAt: startedAt } = attempt;
  const attributes = { 'job.id': row.id, 'job.type': row.type, 'job.attempt': row.attempt };
  return withSpan('attempt', { parent: row.trace, kind: 'consumer', attributes, startedAt }, () =>
    withSpan('completion', {}, () => settle(attempt, end, d)),
  );
}

async function settle(attempt: EndedAttempt, end: AttemptEnd, d: SettleDependencies): Promise<Settled> {
  const { row } = attempt;
  // The manifest is the result of record: an attempt that was taken away may have come to its end before.
  if (end.kind !== 'failed') {
    const completion = await completeAttempt({ job: row, attempt: row.attempt }, d);
    if (completion.outcome === 'recorded') return counted(attempt, completion.job.status, 'over', d);
    if (completion.outcome === 'not_current') return 'over';
    if (end.kind === 'done') {
      d.log.error({ job_id: row.id, attempt: row.attempt, reason: completion.reason }, 'an attempt left nothing whole');
      const error = jobErrorOf('storage_error', row.attempt);
      return settle(attempt, { kind: 'failed', exitCode: exitCodes.transient, error }, d);
    }
  }
  const verdict = verdictOf({ job: row, end, attemptsMax: d.attemptsMax, random: d.random() });
  if (verdict.next === 'complete') throw new TypeError('a completed attempt has been recorded above');
  if (verdict.next === 'fail') return failJob(attempt, verdict.error, d);
  return tryAgain(attempt, verdict, d);
}

/** Ends a job that left no manifest; a full workflow's results say what became of each stage. */
export async function failJob(attempt: EndedAttempt, error: JobError, d: SettleDependencies): Promise<'over'> {
  const { row } = attempt;
  const results = row.type === 'video:full' ? fullResultsOfSourceFailure(error) : null;
  await recordEnd({ job: row, attempt: row.attempt, results, error }, d);
  return counted(attempt, 'failed', 'over', d);
}

async function tryAgain(
  attempt: EndedAttempt,
  { countsAsFailure, delayMs }: { countsAsFailure: boolean; delayMs: number },
  d: SettleDependencies,
): Promise<Settled> {
  const { row } = attempt;
  const ticket = await d.jobs.nextAttempt({ jobId: row.id, attempt: row.attempt, countsAsFailure, delayMs });
  if (ticket === null) return 'over';
  counted(attempt, countsAsFailure ? 'retried' : 'disrupted', 'claimed', d);
  d.log.info({ job_id: row.id, attempt: row.attempt, counts: countsAsFailure }, 'another attempt follows');
  // What was interrupted keeps its slot instead of waiting behind everything that came later.
  if (delayMs === 0) {
    const claim = { jobId: row.id, attempt: ticket.attempt, owner: leaseOwner, leaseMs: Infinity };
    if ((await d.jobs.claim(claim)) !== null) return 'claimed';
  }
  // A ticket that the queue does not take now is added by the sweeper.
  await d.queue
    .add(ticket, { delayMs })
    .catch((error: unknown) => d.log.warn({ err: error, job_id: row.id }, 'the next ticket could not be added'));
  return 'given_up';
}

function counted<T>({ row, begunAt }: EndedAttempt, result: string, settled: T, d: SettleDependencies): T {
  const labels = { type: row.type, result };
  d.metrics.workerTasks.inc(labels);
  // Two machines' clocks: a negative time is none.
  if (begunAt !== null)
    d.metrics.workerTaskDuration.observe(labels, Math.max(0, d.clock().getTime() - begunAt.getTime()) / 1000);
  return settled;
}
