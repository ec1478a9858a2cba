import { setTimeout as sleep } from 'node:timers/promises';
import { isJobProblem } from '#domain/errors.ts';
import { type AttemptEnd, verdictOf } from '#domain/jobs/attempts.ts';
import { fullResultsOfSourceFailure } from '#domain/job-types/full-results.ts';
import { type JobError, jobErrorOf, toJobError } from '#domain/job-error.ts';
import type { Job } from '#domain/jobs/job.ts';
import { exitCodeOf, exitCodes } from '#domain/exit-codes.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { TicketQueue } from '#platform/queue/ticket-queue.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import { type SpanSettings, withSpan } from '#platform/telemetry/tracing.ts';
import {
  completeAttempt,
  completeByEarlierAttempt,
  type Completion,
  type CompletionDependencies,
  recordEnd,
} from '#jobs/complete-attempt.ts';
import { keepLease, type StopReason } from './lease.ts';
import { type AttemptToRun, runSteps, type StepDependencies } from './run-steps.ts';

export interface AttemptDependencies extends StepDependencies, CompletionDependencies {
  readonly jobs: JobStore;
  readonly queue: TicketQueue;
  readonly metrics: Metrics;
  /** 0 ≤ random < 1. */
  readonly random: () => number;
  /** How often an attempt may fail by itself before the job does. */
  readonly attemptsMax: number;
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
  let result = 'bug';
  try {
    const earlier = await earlierCompletion(job, d);
    if (earlier !== null) {
      result = settledAs(earlier);
      return;
    }
    result = await withSpan('attempt', spanOf(job), async (span) => {
      const end = await endOfSteps({ job, trace: span.trace, workspace, signal: stop.signal }, d);
      const settled = await withSpan('completion', {}, () => settle({ job, end, stop: stop.signal }, d)).catch(
        (error: unknown) => {
          log.error({ err: error }, 'the end of an attempt could not be recorded');
          return settle({ job, end: endByError(error, job.attempt), stop: stop.signal }, d);
        },
      );
      span.setAttributes({ 'job.result': settled });
      return settled;
    });
  } finally {
    renewing.abort();
    await renewed;
    d.metrics.workerTasks.inc({ type: job.type, result });
    d.metrics.workerTaskDuration.observe({ type: job.type, result }, (performance.now() - startedAt) / 1000);
    log.info({ result }, 'an attempt ended');
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
    d.log.error({ err: error, job_id: attempt.job.id }, 'a step could not be run');
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

/** What the attempt came to, as `svc_worker_tasks_total` names it. */
type Settled = 'completed' | 'failed' | 'retried' | 'disrupted' | 'lost' | 'cancelled';

async function settle({ job, end, stop }: EndedAttempt, d: AttemptDependencies): Promise<Settled> {
  const reason = stop.reason as StopReason | undefined;
  if (stop.aborted && reason !== 'stopping') return reason === 'cancelled' ? 'cancelled' : 'lost';
  const verdict = verdictOf({ job, end, attemptsMax: d.attemptsMax, random: d.random() });
  if (verdict.next === 'again') return tryAgain({ job, stop, ...verdict }, d);
  const completion = await untilAnswered(
    () =>
      verdict.next === 'complete'
        ? completeAttempt({ job, attempt: job.attempt }, d)
        : recordEnd(failedEnd(job, verdict.error), d),
    { log: d.log, stop },
  );
  if (completion === null) return 'disrupted';
  if (completion.outcome !== 'not_whole') return settledAs(completion);
  d.log.error({ job_id: job.id, attempt: job.attempt, reason: completion.reason }, 'what an attempt left is not whole');
  const error = jobErrorOf('storage_error', job.attempt);
  return settle({ job, end: { kind: 'failed', exitCode: exitCodes.transient, error }, stop }, d);
}

function settledAs(completion: Exclude<Completion, { outcome: 'not_whole' }>): Settled {
  if (completion.outcome === 'not_current') return 'lost';
  return completion.job.status === 'completed' ? 'completed' : 'failed';
}

/** A bucket that cannot be asked now is no reason not to do the work. */
async function earlierCompletion(job: Job, d: AttemptDependencies) {
  const completion = await completeByEarlierAttempt(job, d).catch((error: unknown) => {
    d.log.warn({ err: error, job_id: job.id }, 'an earlier attempt could not be looked for');
    return null;
  });
  return completion?.outcome === 'not_whole' ? null : completion;
}

/** The end of a job that left no manifest; a full workflow's results say what became of each stage. */
function failedEnd(job: Job, error: JobError) {
  const results = job.type === 'video:full' ? fullResultsOfSourceFailure(error) : null;
  return { job, attempt: job.attempt, results, error };
}

async function tryAgain(
  { job, countsAsFailure, delayMs, stop }: { job: Job; countsAsFailure: boolean; delayMs: number; stop: AbortSignal },
  d: AttemptDependencies,
): Promise<Settled> {
  const giveUp = () => d.jobs.nextAttempt({ jobId: job.id, attempt: job.attempt, countsAsFailure, delayMs });
  const ticket = await untilAnswered(giveUp, { log: d.log, stop });
  if (ticket === null) return stop.aborted ? 'disrupted' : 'lost';
  // A ticket that the queue does not take now is added by the sweeper.
  await d.queue
    .add(ticket, { delayMs })
    .catch((error: unknown) => d.log.warn({ err: error, job_id: job.id }, 'the next ticket could not be added'));
  return countsAsFailure ? 'retried' : 'disrupted';
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
      log.warn({ err: error }, 'the end of an attempt could not be recorded yet');
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
