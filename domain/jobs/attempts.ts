import { delayAfter } from '../backoff.ts';
import type { JobErrorCode } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { type JobError, jobErrorOf } from '../job-error.ts';
import type { Job } from './job.ts';

/**
 * How an attempt ended, and what follows.
 *
 * A fault of the input ends the job, since another attempt would meet it again. Any other failure counts as an attempt,
 * and the job is tried again while attempts are left. A disruption (a drained node, a worker that stops) costs no
 * attempt, but a job that is interrupted too often fails with `preempted_too_often`.
 */
export type AttemptEnd =
  /** Every step ended with 0: the result manifest has the rest. */
  | { readonly kind: 'done' }
  /** `error` as the step reported it; null when it ended without a word. */
  | { readonly kind: 'failed'; readonly exitCode: number | null; readonly error: JobError | null }
  /** It was not the attempt's doing. */
  | { readonly kind: 'disrupted' }
  /** It failed while the object storage did not answer. */
  | { readonly kind: 'storage_outage' };

/** The results of an attempt: the job ended with it, or another attempt followed. */
export const endResults = ['completed', 'failed', 'cancelled', 'retried', 'disrupted'] as const;
export type EndResult = (typeof endResults)[number];

/** The ends after which the work of an attempt was for nothing: it was killed, or is repeated. */
export const wastedResults: readonly EndResult[] = ['cancelled', 'retried', 'disrupted'];

/** The attempts that a job keeps a record of, the newest: it may be interrupted fifty times. */
export const attemptsKept = 20;

/** The consequence of an attempt's end. */
export type Verdict =
  | { readonly next: 'complete' }
  | { readonly next: 'fail'; readonly error: JobError }
  | { readonly next: 'again'; readonly countsAsFailure: boolean; readonly delayMs: number };

/** A job may be interrupted this often; a node pool that is drained daily does not reach it in a job's life. */
const disruptionsMax = 50;

interface VerdictInput {
  readonly job: Pick<Job, 'attempt' | 'failures' | 'disruptions'>;
  readonly end: AttemptEnd;
  /** `JOB_ATTEMPTS`: how often an attempt may fail by itself before the job does. */
  readonly attemptsMax: number;
  /** 0 ≤ random < 1; spreads attempts that failed together. */
  readonly random: number;
}

/** Decides what follows `end`; pure. */
export function verdictOf({ job, end, attemptsMax, random }: VerdictInput): Verdict {
  if (end.kind === 'done') return { next: 'complete' };
  if (end.kind === 'disrupted') {
    if (job.disruptions + 1 >= disruptionsMax)
      return { next: 'fail', error: jobErrorOf('preempted_too_often', job.attempt) };
    return { next: 'again', countsAsFailure: false, delayMs: 0 };
  }
  if (end.kind === 'storage_outage') return { next: 'again', countsAsFailure: false, delayMs: retryDelayMs(1, random) };
  const error = errorOf(end, job.attempt);
  const isPermanent = end.exitCode === exitCodes.permanent;
  const failures = job.failures + 1;
  // The same work would exceed the deadline again; one repetition covers a slow node.
  const isLateAgain = error.code === 'deadline_exceeded' && job.failures > 0;
  if (isPermanent || isLateAgain || failures >= attemptsMax) return { next: 'fail', error };
  return { next: 'again', countsAsFailure: true, delayMs: retryDelayMs(failures, random) };
}

/** Whether an attempt failed in a way that an outage of the object storage explains. */
export function mayBeStorageOutage(end: AttemptEnd, attempt: number): boolean {
  if (end.kind !== 'failed' || end.exitCode !== exitCodes.transient) return false;
  return ['storage_error', 'source_unreadable'].includes(errorOf(end, attempt).code);
}

/** The error of an attempt that failed. */
export function errorOf({ error, exitCode }: AttemptEnd & { kind: 'failed' }, attempt: number): JobError {
  return error ?? jobErrorOf(codeOfSilence(exitCode), attempt);
}

/** The code for a step that ended without saying why, by its exit code; null: it was killed by a signal. */
function codeOfSilence(exitCode: number | null): JobErrorCode {
  // The kernel's out-of-memory killer is the usual sender of a signal that this program did not send.
  if (exitCode === null || exitCode === exitCodes.outOfResource) return 'resource_exhausted';
  if (exitCode === exitCodes.transient) return 'storage_error';
  return 'internal';
}

const retryBackoff = { baseMs: 2_000, maxMs: 5 * 60_000, factor: 4 };

/**
 * The wait before the attempt that follows the n-th failure: 2 s, 8 s, 32 s, … up to 5 minutes, ± 20 %.
 *
 * @param failures from 1
 * @param random 0 ≤ random < 1
 */
function retryDelayMs(failures: number, random: number): number {
  return Math.round(delayAfter(failures, retryBackoff) * (0.8 + 0.4 * random));
}
