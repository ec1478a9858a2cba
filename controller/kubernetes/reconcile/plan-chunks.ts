import { type AttemptEnd, errorOf } from '#domain/jobs/attempts.ts';
import type { Job } from '#domain/jobs/job.ts';
import { progressOf } from '#domain/jobs/progress.ts';
import { exitCodes } from '#domain/exit-codes.ts';
import { chunkOf, progressOfFilm } from '../film.ts';
import { chunkRetries } from '../manifests/film-part.ts';
import { endOfJob, hasStarted, indexesOf, isPodOver, type JobSnapshot, podsMaxOf } from '../snapshots.ts';
import { endOfPod } from './attempt-end.ts';
import type { Action, Observed, ObservedFilm, Plan } from './observed.ts';
import { nodeProblemOf } from './pod-problem.ts';
import { problemWrite, statusWrite } from './plan-status.ts';
import {
  deletionsOf,
  ofChunk,
  pendingSince,
  planCreation,
  planPending,
  planSuspendedJob,
  type WaitingInput,
} from './plan-waiting.ts';

/** How often the slots of the pool are looked at while chunks are encoded. */
const checkMs = 5_000;

interface ChunksInput extends WaitingInput {
  readonly job: JobSnapshot;
}

/**
 * The plan while the chunks of a film are encoded. Unlike the pod of a job in one piece, a chunk's pod may be replaced:
 * what two of them write is written once. So the Job controller repeats what was disrupted, and the attempt ends with
 * the Job alone.
 */
export function planChunks(observed: Observed, row: Job, input: ChunksInput): Plan {
  const { film, pod } = observed;
  const { job, stops, nowMs } = input;
  if (film === null) throw new TypeError('chunks are of a film');
  const ended = endOfJob(job);
  if (ended?.type === 'Complete') return planCreation(observed, row, input);
  const failures = failuresOf(film, row.attempt, nowMs);
  const failure = ended === null ? failureAtDeadline(failures) : lastingFailure(failures, film, job);
  if (ended !== null || failure !== null) {
    const end = failure === null ? ({ kind: 'disrupted' } as const) : endOfFailure(failure, row.attempt);
    return { actions: [...stops, { do: 'concludeAttempt', end }], requeueAfterMs: 0 };
  }
  if (job.isSuspended) return planSuspendedJob(observed, row, stops, nowMs);
  const active = film.pods.filter((each) => !isPodOver(each));
  const lost = active.filter((each) => endOfPod(each, row.attempt, nowMs)?.kind === 'disrupted');
  // Kubernetes replaces a pod once it has ended, which one of a lost node never does: the Job is created anew for the
  // chunks that are not finished.
  if (lost.length > 0 && lost.length === active.length) return { actions: [...stops, ...deletionsOf([job])] };
  const started = active.filter(hasStarted).length;
  const scaling = scalingOf(job, film, started);
  if (started === 0) {
    const endedMs = Math.max(...film.pods.flatMap(({ containers }) => containers.map(finishedMs)), 0);
    const waitedMs = nowMs - Math.max(pendingSince(pod, job, nowMs), endedMs);
    const planned = planPending(observed, row, { ...input, waitedMs });
    const requeueAfterMs = Math.min(planned.requeueAfterMs ?? checkMs, checkMs);
    return { ...planned, actions: [...planned.actions, ...scaling], requeueAfterMs };
  }
  const { unreadyNode } = observed;
  const problem = unreadyNode === null ? null : ofChunk(nodeProblemOf(unreadyNode, row.phase ?? 'encoding'), observed);
  const writes =
    problem === null ? statusWrite(observed, row, { problem, nowMs }) : problemWrite(observed, row, { problem, nowMs });
  const actions = [...stops, ...scaling, ...progressReport(film, job, row), ...writes];
  return { actions, requeueAfterMs: checkMs };
}

/** A pod of a chunk that failed by itself. */
interface ChunkFailure {
  readonly chunk: number | null;
  readonly end: AttemptEnd & { readonly kind: 'failed' };
}

function failuresOf({ pods, snapshot }: ObservedFilm, attempt: number, nowMs: number): ChunkFailure[] {
  return pods.flatMap((pod) => {
    const end = endOfPod(pod, attempt, nowMs);
    return end?.kind === 'failed' ? [{ end, chunk: chunkOf(pod, snapshot) }] : [];
  });
}

/**
 * The last failure of a chunk that has exceeded its deadline as often as a chunk may fail. The Job controller cannot
 * count these: a runner that is stopped at its deadline ends as one does whose pod is deleted.
 */
function failureAtDeadline(failures: readonly ChunkFailure[]): ChunkFailure | null {
  const late = failures.filter(({ end }) => end.error?.code === 'deadline_exceeded');
  const timesOf = (chunk: number | null) => late.filter((other) => other.chunk === chunk).length;
  return late.findLast(({ chunk }) => timesOf(chunk) > chunkRetries) ?? null;
}

/** Why a Job of chunks failed: by the chunk that cannot succeed, or else by one that failed for the last time. */
function lastingFailure(failures: readonly ChunkFailure[], film: ObservedFilm, job: JobSnapshot): ChunkFailure | null {
  const lost = new Set(indexesOf(job.indexed?.failed ?? '').map((index) => film.snapshot?.chunks[index] ?? null));
  return (
    failures.find(({ end }) => end.exitCode === exitCodes.permanent) ??
    failures.findLast(({ chunk }) => lost.has(chunk)) ??
    failures.at(-1) ??
    null
  );
}

function endOfFailure({ end, chunk }: ChunkFailure, attempt: number): AttemptEnd {
  const error = errorOf(end, attempt);
  return { ...end, error: chunk === null ? error : { ...error, message: `Chunk ${chunk}: ${error.message}` } };
}

/**
 * More pods as the pool has slots for them, fewer as others wait for slots. Kubernetes deletes excess pods at once, the
 * ones that have not started first: so the number follows the pods as they end, and no chunk is encoded in vain.
 */
function scalingOf(job: JobSnapshot, { parallelism: wanted }: ObservedFilm, started: number): Action[] {
  const current = job.indexed?.parallelism ?? 1;
  const used = podsMaxOf(job);
  const parallelism = wanted < used ? Math.max(wanted, Math.min(used, started), 1) : Math.max(wanted, current);
  return parallelism === current || (wanted < used && parallelism >= used)
    ? []
    : [{ do: 'scaleJob', job, parallelism }];
}

function progressReport({ snapshot }: ObservedFilm, job: JobSnapshot, row: Job): Action[] {
  if (snapshot === null) return [];
  const { fraction } = progressOfFilm(snapshot, job.indexed?.completed);
  const isNews = row.phase !== 'encoding' || progressOf('encoding', fraction) > row.progress;
  return isNews ? [{ do: 'reportPhase', phase: 'encoding', fraction }] : [];
}

function finishedMs({ terminated }: { readonly terminated?: { readonly finishedAt?: string } }): number {
  return Date.parse(terminated?.finishedAt ?? '') || 0;
}
