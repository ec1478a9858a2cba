import { delayAfter } from '#domain/backoff.ts';
import { isJobProblem } from '#domain/errors.ts';
import type { AttemptEnd } from '#domain/jobs/attempts.ts';
import { jobErrorOf, toJobError } from '#domain/job-error.ts';
import type { Job } from '#domain/jobs/job.ts';
import { exitCodeOf, exitCodes } from '#domain/exit-codes.ts';
import type { UnitRun } from '#domain/work/unit-run.ts';
import { usedTimeOf } from '#domain/work/used-time.ts';
import { isDatabaseAway } from '#platform/postgres/database-away.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import { pause } from '#platform/lifecycle/backoff.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { completeByEarlierAttempt } from '#jobs/completion/complete-attempt.ts';
import {
  concludeAttempt,
  type Conclusion,
  conclusionOf,
  type ConclusionDependencies,
} from '#jobs/completion/conclude-attempt.ts';
import { countAttempt, endAttempt, type EndedAttempt } from '#jobs/completion/end-attempt.ts';
import { keepLease, type StopReason } from './lease.ts';
import { type UnitDependencies, runUnits } from './run-units.ts';
import type { AttemptToRun } from './run-steps.ts';

export interface AttemptDependencies extends UnitDependencies, ConclusionDependencies {
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
 * After a lost lease or a cancellation nothing is recorded: the row belongs to another worker or is final. Recording an
 * end waits for the database, however long, since a finished encode is worth more than a free slot.
 */
export async function runAttempt(
  { job, workspace, lease, stop }: AttemptInput,
  dependencies: AttemptDependencies,
): Promise<void> {
  const { jobs, clock } = dependencies;
  const log = dependencies.log.child({ job_id: job.id, attempt: job.attempt, type: job.type });
  const renewing = new AbortController();
  const units = new Map<object, UnitRun>();
  const renewed = keepLease({
    jobs,
    job,
    owner: lease.owner,
    leaseMs: lease.durationMs,
    log,
    used: () => usedTimeOf([...units.values()]),
    onLoss: (reason) => stop.abort(reason satisfies StopReason),
    signal: renewing.signal,
  });
  const begunAt = clock();
  let ended: EndedAttempt | null = null;
  try {
    const earlier = await earlierConclusion(job, dependencies);
    ended = await endAttempt(
      {
        job,
        begunAt,
        run: async (trace) =>
          earlier === null
            ? endOfSteps(
                { job, trace, workspace, onUnit: (unit, run) => units.set(run, unit), signal: stop.signal },
                dependencies,
              )
            : { kind: 'done' },
        conclude: async (end) =>
          earlier ??
          concludeAnyhow({ job, end, units: [...units.values()], stop: stop.signal }, { ...dependencies, log }),
      },
      dependencies,
    );
  } finally {
    renewing.abort();
    await renewed;
    if (ended === null) countAttempt({ job, begunAt, result: 'bug' }, dependencies);
    const { result = 'bug', code } = ended ?? {};
    log.info({ result, code, duration_ms: clock().getTime() - begunAt.getTime() }, 'attempt ended');
  }
}

async function endOfSteps(attempt: AttemptToRun, dependencies: AttemptDependencies): Promise<AttemptEnd> {
  try {
    return await runUnits(attempt, dependencies);
  } catch (error) {
    if (attempt.signal.aborted) return { kind: 'disrupted' };
    dependencies.log.error({ err: error, job_id: attempt.job.id }, 'step not started');
    if (isDatabaseAway(error)) return { kind: 'disrupted' };
    if (isJobProblem(error)) return endByError(error, attempt.job.attempt);
    return { kind: 'failed', exitCode: exitCodes.transient, error: jobErrorOf('internal', attempt.job.attempt) };
  }
}

/** After a long outage of the bucket the job gets another attempt; a bug ends the job. */
function endByError(error: unknown, attempt: number): AttemptEnd {
  const exitCode = isJobProblem(error) ? exitCodeOf(error.code) : exitCodes.permanent;
  return { kind: 'failed', exitCode, error: toJobError(error, attempt) };
}

interface AttemptToConclude {
  readonly job: Job;
  readonly end: AttemptEnd;
  readonly units: readonly UnitRun[];
  readonly stop: AbortSignal;
}

/** An error that every try would meet is how the attempt ended. */
function concludeAnyhow(attempt: AttemptToConclude, dependencies: AttemptDependencies): Promise<Conclusion> {
  return conclude(attempt, dependencies).catch((error: unknown) => {
    dependencies.log.error({ err: error }, 'attempt end not recorded');
    return conclude({ ...attempt, end: endByError(error, attempt.job.attempt) }, dependencies);
  });
}

async function conclude(
  { job, end, units, stop }: AttemptToConclude,
  dependencies: AttemptDependencies,
): Promise<Conclusion> {
  const reason = stop.reason as StopReason | undefined;
  const { jobs, log } = dependencies;
  if (stop.aborted && reason === 'cancelled') {
    await jobs
      .noteWorkOfCancelled({ jobId: job.id, attempt: job.attempt }, units)
      .catch((err: unknown) => log.warn({ err }, 'work of a cancelled attempt not counted'));
    return { kind: 'unrecorded', result: 'cancelled' };
  }
  if (stop.aborted && reason !== 'stopping') return { kind: 'unrecorded', result: 'lost' };
  const conclusion = await untilAnswered(() => concludeAttempt({ job, end, units }, dependencies), { log, stop });
  if (conclusion === null) return { kind: 'unrecorded', result: 'disrupted' };
  return lostUnlessCurrent(conclusion);
}

/** The completion by an earlier attempt; null: there is none, or the bucket cannot be reached now. */
async function earlierConclusion(job: Job, dependencies: AttemptDependencies): Promise<Conclusion | null> {
  const completion = await completeByEarlierAttempt(job, dependencies).catch((error: unknown) => {
    dependencies.log.warn({ err: error, job_id: job.id }, 'earlier attempt check failed');
    return null;
  });
  return completion === null || completion.outcome === 'not_whole' ? null : lostUnlessCurrent(conclusionOf(completion));
}

/** A lease was held for the attempt: if it is not the current one, it was lost. */
function lostUnlessCurrent(conclusion: Conclusion): Conclusion {
  return conclusion.kind === 'not_current' ? { kind: 'unrecorded', result: 'lost' } : conclusion;
}

const answerBackoff = { baseMs: 500, maxMs: 10_000 };

/** After this time a refusal of the bucket counts as permanent. */
const bucketPatienceMs = 5 * 60_000;

/**
 * Repeats `work` until it succeeds, however long the database is away. The lease is renewed meanwhile; if another
 * worker gets the job, the guarded transaction refuses. A worker that stops tries once; null: it failed, and the lease
 * lapses.
 *
 * @throws an error that another call would meet again, and an error of the bucket after `bucketPatienceMs`
 */
async function untilAnswered<T>(
  work: () => Promise<T>,
  { log, stop }: { log: Logger; stop: AbortSignal },
): Promise<T | null> {
  const givesUpAt = performance.now() + bucketPatienceMs;
  for (let failures = 1; ; failures += 1) {
    try {
      return await work();
    } catch (error) {
      if (isBug(error) || (isJobProblem(error) && performance.now() > givesUpAt)) throw error;
      log.warn({ err: error }, 'attempt end not recorded yet, trying again');
      if (stop.aborted) return null;
      await pause(delayAfter(failures, answerBackoff), stop);
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
