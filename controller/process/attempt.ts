import { isJobProblem, type JobErrorCode } from '#domain/errors.ts';
import type { AttemptEnd } from '#domain/jobs/attempts.ts';
import { jobErrorOf, toJobError } from '#domain/job-error.ts';
import type { Job } from '#domain/jobs/job.ts';
import { exitCodeOf, exitCodes } from '#domain/exit-codes.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import { pause } from '#platform/lifecycle/backoff.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { type SpanSettings, withSpan } from '#platform/telemetry/tracing.ts';
import { completeByEarlierAttempt } from '#jobs/complete-attempt.ts';
import {
  type AttemptResult,
  concludeAttempt,
  conclusionOf,
  type ConclusionDependencies,
  countAttempt,
  enqueueNextAttempt,
  resultOf,
} from '#jobs/conclude-attempt.ts';
import { keepLease, type StopReason } from './lease.ts';
import { type FilmDependencies, runWork } from './run-film.ts';
import type { AttemptToRun } from './run-steps.ts';

export interface AttemptDependencies extends FilmDependencies, ConclusionDependencies {
  readonly jobs: JobStore;
}

interface AttemptInput {
  readonly job: Job;
  readonly workspace: string;
  readonly lease: { readonly owner: string; readonly durationMs: number };
  /** Aborted by the executor (`stopping`) or by the lease (`lost`, `cancelled`); the reason is a `StopReason`. */
  readonly stop: AbortController;
}

/**
 * One attempt under a lease: runs the steps and concludes the attempt by how they ended.
 *
 * After a lost lease or a cancellation nothing is recorded: the row belongs to another worker or is final. An end is
 * recorded however long the database is away, since a finished encode is worth more than a free slot.
 */
export async function runAttempt(
  { job, workspace, lease, stop }: AttemptInput,
  dependencies: AttemptDependencies,
): Promise<void> {
  const { jobs, metrics } = dependencies;
  const log = dependencies.log.child({ job_id: job.id, attempt: job.attempt, type: job.type });
  const renewing = new AbortController();
  const renewed = keepLease({
    jobs,
    job,
    owner: lease.owner,
    leaseMs: lease.durationMs,
    log,
    onLoss: (reason) => stop.abort(reason satisfies StopReason),
    signal: renewing.signal,
  });
  const startedAt = performance.now();
  let concluded: Concluded = { result: 'bug' };
  try {
    const earlier = await earlierCompletion(job, dependencies);
    if (earlier !== null) {
      concluded = { result: earlier };
      return;
    }
    concluded = await withSpan('attempt', spanOf(job), async (span) => {
      const end = await endOfSteps({ job, trace: span.trace, workspace, signal: stop.signal }, dependencies);
      const ended = { job, end, stop: stop.signal };
      const conclusion = await withSpan('completion', {}, () => conclude(ended, dependencies)).catch(
        (error: unknown) => {
          log.error({ err: error }, 'attempt end not recorded');
          return conclude({ ...ended, end: endByError(error, job.attempt) }, dependencies);
        },
      );
      span.setAttributes({ 'job.result': conclusion.result });
      return conclusion;
    });
  } finally {
    renewing.abort();
    await renewed;
    const durationMs = performance.now() - startedAt;
    countAttempt(metrics, { type: job.type, result: concluded.result, seconds: durationMs / 1000 });
    log.info({ ...concluded, duration_ms: Math.round(durationMs) }, 'attempt ended');
  }
}

/** The attempt in the trace of the request that made the job. */
function spanOf(job: Job): SpanSettings {
  const attributes = { 'job.id': job.id, 'job.type': job.type, 'job.attempt': job.attempt };
  return { parent: job.trace, kind: 'consumer', attributes };
}

async function endOfSteps(attempt: AttemptToRun, dependencies: AttemptDependencies): Promise<AttemptEnd> {
  try {
    return await runWork(attempt, dependencies);
  } catch (error) {
    if (attempt.signal.aborted) return { kind: 'disrupted' };
    dependencies.log.error({ err: error, job_id: attempt.job.id }, 'step not started');
    if (isJobProblem(error)) return endByError(error, attempt.job.attempt);
    return { kind: 'failed', exitCode: exitCodes.transient, error: jobErrorOf('internal', attempt.job.attempt) };
  }
}

/** After a long outage of the bucket the job gets another attempt; a bug ends the job. */
function endByError(error: unknown, attempt: number): AttemptEnd {
  const exitCode = isJobProblem(error) ? exitCodeOf(error.code) : exitCodes.permanent;
  return { kind: 'failed', exitCode, error: toJobError(error, attempt) };
}

interface EndedAttempt {
  readonly job: Job;
  readonly end: AttemptEnd;
  readonly stop: AbortSignal;
}

/** What an attempt came to; `code` is its error's. */
interface Concluded {
  readonly result: AttemptResult;
  readonly code?: JobErrorCode | undefined;
}

async function conclude({ job, end, stop }: EndedAttempt, dependencies: AttemptDependencies): Promise<Concluded> {
  const reason = stop.reason as StopReason | undefined;
  if (stop.aborted && reason !== 'stopping') return { result: reason === 'cancelled' ? 'cancelled' : 'lost' };
  const { log } = dependencies;
  const conclusion = await untilAnswered(() => concludeAttempt({ job, end }, dependencies), { log, stop });
  if (conclusion === null) return { result: 'disrupted' };
  if (conclusion.kind === 'again') await enqueueNextAttempt(conclusion, dependencies);
  const error = conclusion.kind === 'ended' ? conclusion.job.error : end.kind === 'failed' ? end.error : null;
  return { result: resultOf(conclusion), code: error?.code };
}

/** When the bucket cannot be reached now, the attempt begins all the same. */
async function earlierCompletion(job: Job, dependencies: AttemptDependencies): Promise<AttemptResult | null> {
  const completion = await completeByEarlierAttempt(job, dependencies).catch((error: unknown) => {
    dependencies.log.warn({ err: error, job_id: job.id }, 'earlier attempt check failed');
    return null;
  });
  if (completion === null || completion.outcome === 'not_whole') return null;
  return resultOf(conclusionOf(completion));
}

const answerPauseMs = { first: 500, max: 10_000 };

/** After this time a refusal of the bucket counts as permanent. */
const bucketPatienceMs = 5 * 60_000;

/**
 * Repeats `work` until it succeeds, however long the database is away. The lease is renewed meanwhile; when another
 * worker has the job by then, the guarded transaction refuses. A worker that stops tries once; null: it did not
 * succeed, and the lease will lapse.
 *
 * @throws an error that another call would meet again, and an error of the bucket after `bucketPatienceMs`
 */
async function untilAnswered<T>(
  work: () => Promise<T>,
  { log, stop }: { log: Logger; stop: AbortSignal },
): Promise<T | null> {
  const givesUpAt = performance.now() + bucketPatienceMs;
  let pauseMs = answerPauseMs.first;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (isBug(error) || (isJobProblem(error) && performance.now() > givesUpAt)) throw error;
      log.warn({ err: error }, 'attempt end not recorded yet, trying again');
      if (stop.aborted) return null;
      await pause(pauseMs, stop);
      pauseMs = Math.min(answerPauseMs.max, pauseMs * 2);
    }
  }
}

/** Whether the same call would fail again: a mistake in this program, or a statement that the database refuses. */
function isBug(error: unknown): boolean {
  if (error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError) return true;
  const code = (error as { code?: unknown }).code;
  // SQLSTATE classes: data exception, constraint violation, syntax error or access rule violation.
  return typeof code === 'string' && /^(?:22|23|42)[0-9A-Z]{3}$/.test(code);
}
