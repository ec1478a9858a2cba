import type { JobErrorCode } from '#domain/errors.ts';
import { exitCodeOf, exitCodes } from '#domain/exit-codes.ts';
import { type JobError, jobErrorOf } from '#domain/job-error.ts';
import type { ImageStages } from '#domain/job-types/image-stages.ts';
import { jobTypeRow, type JobResults } from '#domain/job-types/index.ts';
import { type AttemptEnd, mayBeStorageOutage, type Verdict, verdictOf } from '#domain/jobs/attempts.ts';
import type { Job, ShownJob } from '#domain/jobs/job.ts';
import type { Ticket } from '#domain/jobs/ticket.ts';
import { unitKindRow } from '#domain/work/unit.ts';
import type { UnitRun } from '#domain/work/unit-run.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { TicketQueue } from '#platform/queue/ticket-queue.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import { etagOf } from '../checks.ts';
import { completeAttempt, type Completion, type CompletionDependencies, recordEnd } from './complete-attempt.ts';
import { readSplitImages } from './next-units.ts';

export interface ConclusionDependencies extends CompletionDependencies {
  readonly jobs: Pick<JobStore, 'finish' | 'nextAttempt'>;
  readonly queue: Pick<TicketQueue, 'add'>;
  readonly source: Pick<ObjectStore, 'head'>;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly clock: () => Date;
  /** Whether the object storage does not answer, so that an attempt that it failed costs nothing. */
  readonly storageWatch: { isOutage(): Promise<boolean> };
  /** 0 ≤ random < 1. */
  readonly random: () => number;
  /** `JOB_ATTEMPTS`: how often an attempt may fail by itself before the job does. */
  readonly attemptsMax: number;
}

/** The consequence that the end of an attempt has for its job. */
export type Conclusion =
  /** The job is final. */
  | { readonly kind: 'ended'; readonly job: ShownJob }
  /** The job is final already, or at another attempt: nothing was written. */
  | { readonly kind: 'not_current' }
  /** The executor recorded nothing: it stopped, the job was cancelled, or another worker has it. */
  | { readonly kind: 'unrecorded'; readonly result: 'cancelled' | 'disrupted' | 'lost' }
  /** The next attempt is not claimed yet; `ticket` asks for it. `code`: of the error, if the attempt failed. */
  | {
      readonly kind: 'again';
      readonly ticket: Ticket;
      readonly countsAsFailure: boolean;
      readonly delayMs: number;
      readonly code: JobErrorCode | undefined;
    };

interface EndedAttempt {
  readonly job: Job;
  readonly end: AttemptEnd;
  /** The units that it ran, as far as they are known. */
  readonly units: readonly UnitRun[];
  /** Whether an interrupted attempt may have written its result manifest before. */
  readonly mayHaveCompleted?: boolean;
  /** Whether another version of the service ran a part of it: then a failure that may not last costs nothing. */
  readonly isOfOtherVersion?: boolean;
}

/**
 * Does what follows from the end of an attempt: completes or fails the job, or makes the next attempt the current one.
 * It can be repeated.
 *
 * @throws KnownProblem `storage_error`, or an error of the database: try again
 */
export async function concludeAttempt(
  { job, end, units, mayHaveCompleted = false, isOfOtherVersion = false }: EndedAttempt,
  dependencies: ConclusionDependencies,
): Promise<Conclusion> {
  const { jobs, metrics, log } = dependencies;
  const ids = { job_id: job.id, attempt: job.attempt };
  // The manifest is the result of record: an attempt that was interrupted may have come to its end before.
  if (end.kind === 'done' || (end.kind === 'disrupted' && mayHaveCompleted)) {
    const isRepeated = async (error: JobError) =>
      (await followUp({ job, end: failedBy(error), isOfOtherVersion }, dependencies)).verdict.next === 'again';
    const completion = await completeAttempt({ job, attempt: job.attempt, units, isRepeated }, dependencies);
    if (completion.outcome !== 'not_whole') {
      if (completion.outcome === 'recorded') observeSpeed(metrics, completion.job);
      return conclusionOf(completion);
    }
    if (end.kind === 'done') {
      const { reason, error } = completion;
      log.error({ ...ids, reason }, 'attempt output incomplete');
      return concludeAttempt({ job, end: failedBy(error), units, isOfOtherVersion }, dependencies);
    }
  }
  const { cause, verdict } = await followUp({ job, end, isOfOtherVersion }, dependencies);
  if (verdict.next === 'complete') throw new TypeError('a completed attempt has been recorded above');
  if (verdict.next === 'fail') {
    const mayBeSplit = unitKindRow(jobTypeRow(job.type).firstUnit).follows.length > 0;
    const images = mayBeSplit ? await readSplitImages(job.id, dependencies.media) : null;
    return conclusionOf(await failJob({ job, error: verdict.error, images, units }, dependencies));
  }
  const { countsAsFailure, delayMs } = verdict;
  const countsAsDisruption = cause.kind === 'disrupted';
  const code = cause.kind === 'failed' ? cause.error?.code : undefined;
  const next = { countsAsFailure, countsAsDisruption, delayMs, code, units };
  const ticket = await jobs.nextAttempt({ jobId: job.id, attempt: job.attempt, ...next });
  if (ticket === null) return { kind: 'not_current' };
  metrics.workerRetries.inc({ code: codeOf(cause) });
  log.info({ ...ids, counts_as_failure: countsAsFailure, delay_ms: delayMs }, 'attempt ended, another follows');
  return { kind: 'again', ticket, countsAsFailure, delayMs, code };
}

const failedBy = (error: JobError) => ({ kind: 'failed', exitCode: exitCodeOf(error.code), error }) as const;

/** Decides what follows an end, and what it counts as: an outage of the storage or another version costs nothing. */
async function followUp(
  { job, end: reported, isOfOtherVersion = false }: Pick<EndedAttempt, 'job' | 'end' | 'isOfOtherVersion'>,
  { attemptsMax, random, source, storageWatch }: ConclusionDependencies,
): Promise<{ readonly cause: AttemptEnd; readonly verdict: Verdict }> {
  const end = await confirmed(reported, job, source);
  const isOutage = mayBeStorageOutage(end, job.attempt) && (await storageWatch.isOutage());
  const isInterrupted = isOfOtherVersion && end.kind === 'failed' && end.exitCode !== exitCodes.permanent;
  const cause: AttemptEnd = isOutage ? { kind: 'storage_outage' } : isInterrupted ? { kind: 'disrupted' } : end;
  return { cause, verdict: verdictOf({ job, end: cause, attemptsMax, random: random() }) };
}

/**
 * A source is missing only if this process finds none either. To a runner that is denied everything for a moment a
 * source looks missing (C22.10); this process has seen before whether it may list the bucket.
 */
async function confirmed(
  end: AttemptEnd,
  { source: key, attempt }: Job,
  source: ConclusionDependencies['source'],
): Promise<AttemptEnd> {
  const isMissing = end.kind === 'failed' && end.error?.code === 'source_not_found';
  return isMissing && (await etagOf(source, key)) !== null ? failedBy(jobErrorOf('source_unreadable', attempt)) : end;
}

/** The speed of a transcode: only a first attempt has the times of one attempt in its row. */
function observeSpeed(
  metrics: Pick<Metrics, 'encodeSpeed'>,
  { attempt, results, startedAt, finishedAt }: ShownJob,
): void {
  if (attempt !== 1 || results === null || !('streaming' in results) || startedAt === null || finishedAt === null)
    return;
  const { source } = results as { readonly source?: { readonly duration_sec?: number } };
  const seconds = (finishedAt.getTime() - startedAt.getTime()) / 1000;
  if (source?.duration_sec !== undefined && seconds > 0) metrics.encodeSpeed.observe(source.duration_sec / seconds);
}

/** The label `code` of `svc_worker_retries_total`. */
function codeOf(end: AttemptEnd): string {
  if (end.kind !== 'failed') return end.kind === 'disrupted' ? 'disruption' : end.kind;
  return end.error?.code ?? 'unknown';
}

interface FailedJob {
  readonly job: Job;
  readonly error: JobError;
  readonly images?: ImageStages | null;
  /** The units that its attempt ran. */
  readonly units?: readonly UnitRun[];
}

/** Ends a job that left no result manifest; its type says what its results are then. */
export function failJob(
  { job, error, images = null, units }: FailedJob,
  dependencies: Pick<CompletionDependencies, 'jobs' | 'metrics' | 'randomUuid'>,
): Promise<Exclude<Completion, { outcome: 'not_whole' }>> {
  const results = jobTypeRow(job.type).resultsWithoutManifest(error, images) as JobResults | null;
  return recordEnd({ job, attempt: job.attempt, results, error, units }, dependencies);
}

/** The consequence that a completion has for its job. */
export function conclusionOf(completion: Exclude<Completion, { outcome: 'not_whole' }>): Conclusion {
  return completion.outcome === 'recorded' ? { kind: 'ended', job: completion.job } : { kind: 'not_current' };
}
