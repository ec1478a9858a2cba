import { type AttemptEnd, errorOf } from '#domain/jobs/attempts.ts';
import type { Job } from '#domain/jobs/job.ts';
import { progressOf } from '#domain/jobs/progress.ts';
import { exitCodes } from '#domain/exit-codes.ts';
import { unitKindRow } from '#domain/work/unit.ts';
import { chunkOf, chunksProgress } from '../snapshots/units.ts';
import { endOfJob, indexesOf, type JobSnapshot, podsMaxOf } from '../snapshots/job.ts';
import { hasStarted, isPodOver, isWorking, lastFinishedMs, type PodSnapshot } from '../snapshots/pod.ts';
import { endOfPod, isStorageFailure } from './attempt-end.ts';
import type { Action, ObservedUnits, ObservedWithUnits, Plan } from './observed.ts';
import { nodeProblemOf, type PodProblem, podProblemOf } from './pod-problem.ts';
import { problemWrite } from './plan-status.ts';
import {
  deletionsOf,
  ofChunk,
  pendingSince,
  planCreation,
  planFailure,
  planPending,
  planStorageAway,
  planSuspendedJob,
  planWaiting,
  problemAfterMs,
  type WaitingInput,
} from './plan-waiting.ts';

/** How often the slots of the pool are looked at while chunks are encoded. */
const checkMs = 5_000;

interface ChunksInput extends WaitingInput {
  readonly job: JobSnapshot;
}

/**
 * The plan while chunks are encoded. A chunk's pod may be replaced, unlike the pod of a unit that runs alone: so the
 * Job controller repeats what was disrupted, and the attempt ends only with the Job.
 */
export function planChunks(observed: ObservedWithUnits, row: Job, input: ChunksInput): Plan {
  const { units } = observed;
  const { pod, podCreationFailure, unreadyNode } = observed.current;
  const { job, stops, nowMs } = input;
  const ended = endOfJob(job);
  if (ended?.type === 'Complete') {
    if (units.next !== null || units.isUnread) return planCreation(observed, row, input);
    // Nothing follows, although chunks always have a successor: the document of the split was deleted. Without a
    // manifest the attempt fails, and the next one splits the source again.
    return { actions: [...stops, { do: 'concludeAttempt', end: { kind: 'done' } }], requeueAfterMs: 0 };
  }
  const outage = ended === null ? planOutage(observed, row, input) : null;
  if (outage !== null) return outage;
  const failures = failuresOf(units, row.attempt, nowMs);
  const failure =
    ended === null
      ? (failureAtDeadline(failures, units) ?? failures.find(({ isHeld }) => isHeld) ?? null)
      : lastingFailure(failures, units, job);
  if (ended !== null || failure !== null) {
    const end = failure === null ? ({ kind: 'disrupted' } as const) : endOfFailure(failure, row.attempt);
    return { actions: [...stops, { do: 'concludeAttempt', end }], requeueAfterMs: 0 };
  }
  if (job.isSuspended) return planSuspendedJob(observed, row, input);
  const active = units.pods.filter((each) => !isPodOver(each));
  const lost = active.filter((each) => endOfPod(each, row.attempt, nowMs)?.kind === 'disrupted');
  // Kubernetes never replaces a pod of a lost node, since it does not end: so the Job is created again for the
  // unfinished chunks.
  if (lost.length > 0 && lost.length === active.length) return { actions: [...stops, ...deletionsOf([job])] };
  // The Job controller does not count a pod that an added container keeps running. Once no other pod works, the chunk
  // results decide: a Job for the chunks without one follows, or the next units.
  const held = units.pods.filter((each) => isPodOver(each) && each.hasRunningSidecar);
  if (held.length > 0 && active.length === 0) return planHeld(held, { job, stops, nowMs });
  const started = active.filter(isWorking).length;
  // A pod between two steps has work to lose.
  const scaling = scalingOf(job, units, active.filter(hasStarted).length);
  if (started === 0 && units.parallelism === 0) {
    const planned = planWaiting(observed, row, stops, nowMs);
    return { ...planned, actions: [...planned.actions, ...scaling], requeueAfterMs: checkMs };
  }
  const stuck = stuckAmong(active, input);
  if (started === 0) {
    const endedMs = Math.max(...units.pods.map((each) => lastFinishedMs(each) ?? 0), 0);
    const waitedMs = nowMs - Math.max(pendingSince(pod, job, nowMs), endedMs);
    const planned = planPending(observed, row, { ...input, waitedMs });
    const requeueAfterMs = Math.min(planned.requeueAfterMs ?? checkMs, checkMs);
    return { ...planned, actions: [...planned.actions, ...scaling], requeueAfterMs };
  }
  if (stuck !== null && stuck.waitedMs >= input.settings.pendingDeadlineMs)
    return planFailure(row, problemOfChunk(stuck, units), stops);
  const nodeProblem =
    unreadyNode === null ? null : ofChunk(nodeProblemOf(unreadyNode, row.phase ?? 'encoding'), observed);
  const hindrance = stuck === null ? podProblemOf(null, podCreationFailure) : problemOfChunk(stuck, units);
  const problem = nodeProblem ?? (hindrance === null ? null : { ...hindrance, phase: row.phase ?? 'encoding' });
  const writes = problemWrite(observed, row, { problem, nowMs });
  const actions = [...stops, ...scaling, ...progressReport(units, job, row), ...writes];
  return { actions, requeueAfterMs: checkMs };
}

/**
 * The plan for an outage of the storage that chunks fail by; null without one. A chunk that works goes on: the storage
 * may answer before it publishes. The Job is deleted once no chunk works, or before the last try of one: when the
 * storage answers, a Job follows for the chunks that are not finished, whose tries are all left.
 */
function planOutage(observed: ObservedWithUnits, row: Job, { job, stops, nowMs }: ChunksInput): Plan | null {
  const { units } = observed;
  const failed = units.pods.filter((each) => isStorageFailure(each, row.attempt, nowMs));
  if (observed.storageProblem === null || failed.length === 0) return null;
  const planned = planStorageAway(observed, row, stops, nowMs);
  const failures = failuresOf(units, row.attempt, nowMs);
  const triesOf = (chunk: number | null) => failures.filter((other) => other.chunk === chunk).length;
  const { retriesMax } = unitKindRow(units.kind);
  const isAtLastTry = failed.some((pod) => triesOf(chunkOf(pod, units.pending)) >= retriesMax);
  const isOneWorking = units.pods.some((each) => hasStarted(each) && !isPodOver(each));
  if (isOneWorking && !isAtLastTry) return planned;
  return { ...planned, actions: [...planned.actions, ...deletionsOf([job])] };
}

/** The pod of a chunk that cannot start a step, while others work. */
interface StuckChunk {
  readonly pod: PodSnapshot;
  readonly problem: PodProblem;
  readonly waitedMs: number;
}

/** The chunk that has waited longest for a step that cannot start. One that finds no node waits for the others. */
function stuckAmong(active: readonly PodSnapshot[], { job, nowMs }: ChunksInput): StuckChunk | null {
  const stuck = active.flatMap((pod) => {
    const problem = isWorking(pod) ? null : podProblemOf(pod, null);
    if (problem === null || problem.phase === 'unschedulable') return [];
    return [{ pod, problem, waitedMs: nowMs - (lastFinishedMs(pod) ?? pendingSince(pod, job, nowMs)) }];
  });
  const [first] = stuck.toSorted((a, b) => b.waitedMs - a.waitedMs);
  return first === undefined || first.waitedMs < problemAfterMs ? null : first;
}

function problemOfChunk({ pod, problem }: StuckChunk, { pending }: ObservedUnits): PodProblem {
  return { ...problem, message: `Chunk ${chunkOf(pod, pending) ?? '?'}: ${problem.message}` };
}

/** Ends the Job of pods whose work is done, unless their added containers end by themselves within a moment. */
function planHeld(held: readonly PodSnapshot[], { job, stops, nowMs }: Omit<ChunksInput, 'settings'>): Plan {
  const leftMs = Math.max(...held.map((each) => lastFinishedMs(each) ?? 0)) + problemAfterMs - nowMs;
  return leftMs > 0
    ? { actions: stops, requeueAfterMs: leftMs }
    : { actions: [...stops, ...deletionsOf([job])], requeueAfterMs: checkMs };
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
function failureAtDeadline(failures: readonly ChunkFailure[], { kind }: ObservedUnits): ChunkFailure | null {
  const { retriesMax } = unitKindRow(kind);
  const late = failures.filter(({ end }) => end.error?.code === 'deadline_exceeded');
  const timesOf = (chunk: number | null) => late.filter((other) => other.chunk === chunk).length;
  return late.findLast(({ chunk }) => timesOf(chunk) > retriesMax) ?? null;
}

/** Why a Job of chunks failed: by the chunk that cannot succeed, or else by one that failed for the last time. */
function lastingFailure(
  failures: readonly ChunkFailure[],
  units: ObservedUnits,
  job: JobSnapshot,
): ChunkFailure | null {
  const lost = new Set(indexesOf(job.indexed?.failed ?? '').map((index) => units.pending?.chunks[index] ?? null));
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
 * More pods while the pool has slots, fewer while others wait for slots. Kubernetes would delete excess pods at once,
 * so the number falls only as pods end, and no chunk is encoded in vain.
 */
function scalingOf(job: JobSnapshot, { parallelism: wanted }: ObservedUnits, started: number): Action[] {
  const current = job.indexed?.parallelism ?? 1;
  const needed = Math.max(wanted, started);
  const parallelism = needed < podsMaxOf(job) ? needed : Math.max(wanted, current);
  return parallelism === current ? [] : [{ do: 'scaleJob', job, parallelism }];
}

function progressReport({ pending }: ObservedUnits, job: JobSnapshot, row: Job): Action[] {
  if (pending === null) return [];
  const { fraction } = chunksProgress(pending, job.indexed?.completed);
  const isNews = row.phase !== 'encoding' || progressOf('encoding', fraction) > row.progress;
  return isNews ? [{ do: 'reportPhase', phase: 'encoding', fraction }] : [];
}
