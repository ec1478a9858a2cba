import { type AttemptEnd, errorOf } from '#domain/jobs/attempts.ts';
import type { Job } from '#domain/jobs/job.ts';
import { exitCodes } from '#domain/exit-codes.ts';
import { unitKindRow } from '#domain/work/unit.ts';
import { chunkOf } from '../snapshots/units.ts';
import { endOfJob, indexesOf, type JobSnapshot } from '../snapshots/job.ts';
import { hasStarted, isPodOver, isWorking, lastFinishedMs, pendingSince, type PodSnapshot } from '../snapshots/pod.ts';
import { endOfPod, isStorageFailure } from './attempt-end.ts';
import { isParallel, type ObservedUnits, type View } from './observed.ts';
import { type PodProblem, podProblemOf, problemAfterMs } from './pod-problem.ts';

/**
 * The chunks of an attempt that its Job encodes. A chunk's pod may be replaced, unlike the pod of a unit that runs
 * alone: the Job controller repeats what was disrupted, and the attempt ends only with the Job.
 */
export interface Chunks {
  readonly job: JobSnapshot;
  readonly units: ObservedUnits;
  /** How the attempt ended; null while it continues. */
  readonly end: AttemptEnd | null;
  /** Chunks fail by an outage of the storage; `deletesJob`: their Job has to go. Null without one. */
  readonly outage: { readonly deletesJob: boolean } | null;
  /** Kubernetes never replaces a pod of a lost node, since it does not end; no other pod is left. */
  readonly isOnLostNodes: boolean;
  /** Pods whose work is done and that added containers keep running, once no other pod is left. */
  readonly keptRunning: readonly PodSnapshot[];
  /** Pods that have work to lose, also between two steps. */
  readonly started: number;
  /** How long no pod has run a step, in milliseconds; null while one does. */
  readonly pendingMs: number | null;
  /** The chunk that has waited longest for a step that cannot start; null without one. */
  readonly stuck: StuckChunk | null;
}

/** The pod of a chunk that cannot start a step. */
export interface StuckChunk {
  readonly problem: PodProblem;
  readonly waitedMs: number;
}

/** Derives the chunks of an attempt; null for a Job of one unit, or without a Job. */
export function chunksOf(view: View, row: Job): Chunks | null {
  const { job, pod } = view.current;
  const { nowMs } = view;
  if (job === null || !isParallel(view)) return null;
  const { units } = view;
  const failures = failuresOf(units, row.attempt, nowMs);
  const active = units.pods.filter((each) => !isPodOver(each));
  const isLost = (each: PodSnapshot) => endOfPod(each, row.attempt, nowMs)?.kind === 'disrupted';
  const lastEndMs = Math.max(...units.pods.map((each) => lastFinishedMs(each) ?? 0), 0);
  return {
    job,
    units,
    end: endOfChunks(failures, { units, job, attempt: row.attempt }),
    outage: outageOf(view, { units, job, row, failures }),
    isOnLostNodes: active.length > 0 && active.every(isLost),
    keptRunning: active.length > 0 ? [] : units.pods.filter((each) => isPodOver(each) && each.hasRunningSidecar),
    started: active.filter(hasStarted).length,
    pendingMs: active.some(isWorking) ? null : nowMs - Math.max(pendingSince(pod, job, nowMs), lastEndMs),
    stuck: stuckAmong(active, { units, job, nowMs }),
  };
}

interface ChunkJob {
  readonly units: ObservedUnits;
  readonly job: JobSnapshot;
}

/** How the attempt ended: with its Job, or by a failure that the Job controller does not count. */
function endOfChunks(
  failures: readonly ChunkFailure[],
  { units, job, attempt }: ChunkJob & { attempt: number },
): AttemptEnd | null {
  const ended = endOfJob(job);
  // Chunks always have a successor. Where none is known the document of the split was deleted: without a manifest the
  // attempt fails, and the next one splits the source again.
  if (ended?.type === 'Complete') return { kind: 'done' };
  const failure =
    ended === null
      ? (failureAtDeadline(failures, units) ?? failures.find(({ isHeld }) => isHeld))
      : lastingFailure(failures, { units, job });
  if (failure !== undefined) return endOfFailure(failure, attempt);
  return ended === null ? null : { kind: 'disrupted' };
}

interface FailingChunks extends ChunkJob {
  readonly row: Job;
  readonly failures: readonly ChunkFailure[];
}

/**
 * An outage of the storage that chunks fail by. A chunk that works goes on: the storage may answer before it publishes.
 * The Job has to go once no chunk works, or before the last try of one: when the storage answers, a Job follows for the
 * chunks that are not finished, whose tries are all left.
 */
function outageOf(
  { storageProblem, nowMs }: View,
  { units, job, row, failures }: FailingChunks,
): { readonly deletesJob: boolean } | null {
  if (storageProblem === null || endOfJob(job) !== null) return null;
  const failed = units.pods.filter((each) => isStorageFailure(each, row.attempt, nowMs));
  if (failed.length === 0) return null;
  const triesOf = (chunk: number | null) => failures.filter((other) => other.chunk === chunk).length;
  const { retriesMax } = unitKindRow(units.kind);
  const isAtLastTry = failed.some((pod) => triesOf(chunkOf(pod, units.pending)) >= retriesMax);
  const isOneWorking = units.pods.some((each) => hasStarted(each) && !isPodOver(each));
  return { deletesJob: isAtLastTry || !isOneWorking };
}

/** The chunk that has waited longest for a step that cannot start. One that finds no node waits for the others. */
function stuckAmong(
  active: readonly PodSnapshot[],
  { units, job, nowMs }: ChunkJob & { nowMs: number },
): StuckChunk | null {
  const stuck = active.flatMap((pod) => {
    const problem = isWorking(pod) ? null : podProblemOf(pod, null);
    if (problem === null || problem.phase === 'unschedulable') return [];
    const message = `Chunk ${chunkOf(pod, units.pending) ?? '?'}: ${problem.message}`;
    const waitedMs = nowMs - (lastFinishedMs(pod) ?? pendingSince(pod, job, nowMs));
    return [{ problem: { ...problem, message }, waitedMs }];
  });
  const [first] = stuck.toSorted((a, b) => b.waitedMs - a.waitedMs);
  return first === undefined || first.waitedMs < problemAfterMs ? null : first;
}

/** A pod of a chunk that failed by itself. */
interface ChunkFailure {
  readonly chunk: number | null;
  /** An added container keeps its pod running, so that the Job controller does not see it. */
  readonly isHeld: boolean;
  readonly end: AttemptEnd & { readonly kind: 'failed' };
}

function failuresOf({ pods, pending }: ObservedUnits, attempt: number, nowMs: number): ChunkFailure[] {
  return pods.flatMap((pod) => {
    const end = endOfPod(pod, attempt, nowMs);
    if (end?.kind !== 'failed') return [];
    // An added container that ends within a moment leaves the failure to the Job controller, which tries again.
    const isHeld = pod.hasRunningSidecar && nowMs - (lastFinishedMs(pod) ?? 0) >= problemAfterMs;
    return [{ end, chunk: chunkOf(pod, pending), isHeld }];
  });
}

/**
 * The last failure of a chunk that has exceeded its deadline as often as a chunk may fail. The Job controller cannot
 * count these, since a runner that is stopped at its deadline looks like one whose pod was deleted.
 */
function failureAtDeadline(failures: readonly ChunkFailure[], { kind }: ObservedUnits): ChunkFailure | undefined {
  const { retriesMax } = unitKindRow(kind);
  const late = failures.filter(({ end }) => end.error?.code === 'deadline_exceeded');
  const timesOf = (chunk: number | null) => late.filter((other) => other.chunk === chunk).length;
  return late.findLast(({ chunk }) => timesOf(chunk) > retriesMax);
}

/** Why a Job of chunks failed: by the chunk that cannot succeed, or else by one that failed for the last time. */
function lastingFailure(failures: readonly ChunkFailure[], { units, job }: ChunkJob): ChunkFailure | undefined {
  const lost = new Set(indexesOf(job.indexed?.failed ?? '').map((index) => units.pending?.chunks[index] ?? null));
  return (
    failures.find(({ end }) => end.exitCode === exitCodes.permanent) ??
    failures.findLast(({ chunk }) => lost.has(chunk)) ??
    failures.at(-1)
  );
}

function endOfFailure({ end, chunk }: ChunkFailure, attempt: number): AttemptEnd {
  const error = errorOf(end, attempt);
  return { ...end, error: chunk === null ? error : { ...error, message: `Chunk ${chunk}: ${error.message}` } };
}
