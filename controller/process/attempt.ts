import { setTimeout as sleep } from 'node:timers/promises';
import { isJobProblem } from '#domain/errors.ts';
import type { AttemptEnd } from '#domain/jobs/attempts.ts';
import { jobErrorOf, toJobError } from '#domain/job-error.ts';
import type { Job } from '#domain/jobs/job.ts';
import { exitCodeOf, exitCodes } from '#domain/exit-codes.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { type SpanSettings, withSpan } from '#platform/telemetry/tracing.ts';
import { completeByEarlierAttempt } from '#jobs/complete-attempt.ts';
import {
  type AttemptResult,
  concludeAttempt,
  type ConclusionDependencies,
  countAttempt,
  enqueueNextAttempt,
  resultOf,
} from '#jobs/conclude-attempt.ts';
import { keepLease, type StopReason } from './lease.ts';
import { type AttemptToRun, runSteps, type StepDependencies } from './run-steps.ts';

export interface AttemptDependencies extends StepDependencies, ConclusionDependencies {
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
 * One attempt under a lease: run the steps, then do what follows from how they ended.
 *
 * A lost lease or a cancelled job needs nothing recorded: its row is another worker's, or final. What is recorded is
 * tried until the database answers, since a finished encode is worth more than a free slot.
 */
export async function runAttempt({ job, workspace, lease, stop }: AttemptInput, d: AttemptDependencies): Promise<void> {
  const log = d.log.child({ job_id: job.id, attempt: job.attempt, type: job.type });
  const renewing = new AbortController();
  const renewed = keepLease({
    jobs: d.jobs,
    job,
    owner: lease.owner,
    leaseMs: lease.durationMs,
    log,
    onLoss: (reason) => stop.abort(reason satisfies StopReason),
    signal: renewing.signal,
  });
  const startedAt = performance.now();
  let result: AttemptResult = 'bug';
  try {
    const earlier = await earlierCompletion(job, d);
    if (earlier !== null) {
      result = earlier;
      return;
    }
    result = await withSpan('attempt', spanOf(job), async (span) => {
      const end = await endOfSteps({ job, trace: span.trace, workspace, signal: stop.signal }, d);
      const concluded = await withSpan('completion', {}, () => conclude({ job, end, stop: stop.signal }, d)).catch(
        (error: unknown) => {
          log.error({ err: error }, 'attempt end not recorded');
          return conclude({ job, end: endByError(error, job.attempt), stop: stop.signal }, d);
        },
      );
      span.setAttributes({ 'job.result': concluded });
      return concluded;
    });
  } finally {
    renewing.abort();
    await renewed;
    countAttempt(d.metrics, { type: job.type, result, seconds: (performance.now() - startedAt) / 1000 });
    log.info({ result }, 'attempt ended');
  }
}

/** The attempt in the trace of the request that made the job. */
function spanOf(job: Job): SpanSettings {
  const attributes = { 'job.id': job.id, 'job.type': job.type, 'job.attempt': job.attempt };
  return { parent: job.trace, kind: 'consumer', attributes };
}

async function endOfSteps(attempt: AttemptToRun, d: AttemptDependencies): Promise<AttemptEnd> {
  try {
    return await runSteps(attempt, d);
  } catch (error) {
    if (attempt.signal.aborted) return { kind: 'disrupted' };
    d.log.error({ err: error, job_id: attempt.job.id }, 'step not started');
    return { kind: 'failed', exitCode: exitCodes.transient, error: jobErrorOf('internal', attempt.job.attempt) };
  }
}

/** A bucket that stays away is tried again in a new attempt; a bug ends the job. */
function endByError(error: unknown, attempt: number): AttemptEnd {
  const exitCode = isJobProblem(error) ? exitCodeOf(error.code) : exitCodes.permanent;
  return { kind: 'failed', exitCode, error: toJobError(error, attempt) };
}

interface EndedAttempt {
  readonly job: Job;
  readonly end: AttemptEnd;
  readonly stop: AbortSignal;
}

async function conclude({ job, end, stop }: EndedAttempt, dependencies: AttemptDependencies): Promise<AttemptResult> {
  const reason = stop.reason as StopReason | undefined;
  if (stop.aborted && reason !== 'stopping') return reason === 'cancelled' ? 'cancelled' : 'lost';
  const { log } = dependencies;
  const conclusion = await untilAnswered(() => concludeAttempt({ job, end }, dependencies), { log, stop });
  if (conclusion === null) return 'disrupted';
  if (conclusion.kind === 'again') await enqueueNextAttempt(conclusion, dependencies);
  return resultOf(conclusion);
}

/** A bucket that cannot be reached now is no reason not to do the work. */
async function earlierCompletion(job: Job, dependencies: AttemptDependencies): Promise<AttemptResult | null> {
  const completion = await completeByEarlierAttempt(job, dependencies).catch((error: unknown) => {
    dependencies.log.warn({ err: error, job_id: job.id }, 'earlier attempt check failed');
    return null;
  });
  if (completion === null || completion.outcome === 'not_whole') return null;
  if (completion.outcome === 'not_current') return 'lost';
  return completion.job.status === 'completed' ? 'completed' : 'failed';
}

const answerPauseMs = { first: 500, max: 10_000 };

/** A bucket that refuses for longer than this may refuse for ever. */
const bucketPatienceMs = 5 * 60_000;

/**
 * Does `work` until it is done, however long the database is away: the lease is renewed meanwhile, or is another's when
 * it is back, and then the guarded transaction says so. A worker that stops tries once; null: it gave up, and the lease
 * will lapse.
 *
 * @throws a bug, which is not tried again, and a bucket's trouble that stays
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
      await sleep(pauseMs, undefined, { signal: stop }).catch(() => undefined);
      pauseMs = Math.min(answerPauseMs.max, pauseMs * 2);
    }
  }
}

/** Whether the same call would meet `error` again: a mistake in this program, or a statement the database refuses. */
function isBug(error: unknown): boolean {
  if (error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError) return true;
  const code = (error as { code?: unknown }).code;
  // SQLSTATE classes: data exception, constraint violation, syntax error or access rule violation.
  return typeof code === 'string' && /^(?:22|23|42)[0-9A-Z]{3}$/.test(code);
}
