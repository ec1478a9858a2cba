import type { Job } from '#domain/jobs/job.ts';
import type { JobPhase } from '#domain/jobs/status.ts';
import type { PodSnapshot } from '../snapshots.ts';
import { endOfAttempt } from './attempt-end.ts';
import type { Action, Observed, Plan, PlanSettings } from './observed.ts';
import { planChunks } from './plan-chunks.ts';
import { nodeProblemOf } from './pod-problem.ts';
import { isClaimed, problemWrite, showsAttempt, statusWrite } from './plan-status.ts';
import {
  deletionsOf,
  pendingSince,
  phaseReport,
  planCreation,
  planPending,
  planStorageAway,
  planSuspendedJob,
  planWaiting,
  type WaitingInput,
} from './plan-waiting.ts';

/** An attempt that runs for less than this shows only its end. */
const briefAttemptMs = 1_000;

/** The plan for a MediaJob whose row is active. */
export function planActive(observed: Observed, row: Job, nowMs: number, settings: PlanSettings): Plan {
  const { mediaJob, job, pod, runningMs } = observed;
  const stops = deletionsOf(observed.otherJobs);
  if (mediaJob.spec.suspend === true) {
    const writes = statusWrite(observed, row, { problem: null, nowMs });
    return { actions: [...stops, ...deletionsOf([job]), ...phaseReport(row, 'suspended'), ...writes] };
  }
  if (!isClaimed(row)) return planUnclaimed(observed, row, stops, nowMs);
  if (job === null) return planWithoutJob(observed, row, { stops, nowMs, settings });
  if (observed.film?.part === 'encode') return planChunks(observed, row, { job, stops, nowMs, settings });
  const end = endOfAttempt({ attempt: row.attempt, job, pod }, nowMs);
  if (end?.kind === 'done' && isSplit(observed)) return planCreation(observed, row, { stops, nowMs, settings });
  if (end !== null) return { actions: [...stops, { do: 'concludeAttempt', end }], requeueAfterMs: 0 };
  if (job.isSuspended) return planSuspendedJob(observed, row, stops, nowMs);
  const phase = phaseOf(observed);
  const stalledAt = stalledSince(pod);
  if (phase === null || stalledAt !== null) {
    const waitedMs = nowMs - (stalledAt ?? pendingSince(pod, job, nowMs));
    return planPending(observed, row, { stops, nowMs, settings, waitedMs });
  }
  const { unreadyNode } = observed;
  if (unreadyNode !== null) {
    const problem = nodeProblemOf(unreadyNode, row.phase ?? phase);
    return {
      actions: [...stops, ...problemWrite(observed, row, { problem, nowMs })],
      ...requeueAtDeletion(pod, nowMs),
    };
  }
  if (!showsAttempt(observed, row) && runningMs < briefAttemptMs) {
    return { actions: stops, requeueAfterMs: briefAttemptMs - runningMs };
  }
  const reports: Action[] = isLater(phase, row.phase) ? [{ do: 'reportPhase', phase }] : [];
  const writes = statusWrite(observed, row, { problem: null, nowMs });
  return { actions: [...stops, ...reports, ...writes], ...requeueAtDeletion(pod, nowMs) };
}

/** Unclaimed: admission requeues the MediaJob when it claims the row; a cancellation is found by polling. */
function planUnclaimed(observed: Observed, row: Job, stops: readonly Action[], nowMs: number): Plan {
  if (observed.isStorageAway) return planStorageAway(observed, row, stops, nowMs);
  return planWaiting(observed, row, stops, nowMs);
}

function planWithoutJob(observed: Observed, row: Job, input: WaitingInput): Plan {
  const { stops } = input;
  if (!observed.isJobBeingCreated && observed.pool.spec !== null && !observed.isJobNeverCreated) {
    return { actions: [...stops, { do: 'concludeAttempt', end: { kind: 'disrupted' } }], requeueAfterMs: 0 };
  }
  return planCreation(observed, row, input);
}

/** Whether the part that has ended found its source to be a film, whose other parts follow. */
function isSplit({ film }: Observed): boolean {
  return film?.part === 'split' && film.next !== null;
}

/** When the last step ended, in milliseconds since the epoch; null while a step runs or before the first one. */
function stalledSince(pod: PodSnapshot | null): number | null {
  const containers = pod?.containers ?? [];
  if (containers.some(({ isRunning }) => isRunning)) return null;
  const finishedAt = containers.findLast(({ terminated }) => terminated !== undefined)?.terminated?.finishedAt;
  return finishedAt === undefined ? null : Date.parse(finishedAt);
}

const phaseOfStep: Readonly<Record<string, JobPhase>> = {
  fetch: 'probing',
  process: 'encoding',
  publish: 'packaging',
  all: 'encoding',
};

/** The phase of the step that started last; null before the first. A runner's own reports are finer. */
function phaseOf({ pod, film }: Observed): JobPhase | null {
  const started = (pod?.containers ?? []).filter(({ isRunning, terminated }) => isRunning || terminated !== undefined);
  const last = started.at(-1);
  const phase = last === undefined ? null : (phaseOfStep[last.name] ?? null);
  // What is published of a film here is not its stream.
  return phase === 'packaging' && film?.part === 'split' ? 'encoding' : phase;
}

const phaseOrder: readonly (JobPhase | null)[] = [
  null,
  'admitted',
  'scheduling',
  'suspended',
  'probing',
  'encoding',
  'packaging',
];

function isLater(phase: JobPhase, than: JobPhase | null): boolean {
  const index = phaseOrder.indexOf(than);
  return index !== -1 && phaseOrder.indexOf(phase) > index;
}

/** A pod that is being deleted is checked again when it should be deleted: its node may be dead. */
function requeueAtDeletion(pod: PodSnapshot | null, nowMs: number): { requeueAfterMs?: number } {
  const { deletionTimestamp } = pod?.metadata ?? {};
  if (deletionTimestamp === undefined) return {};
  return { requeueAfterMs: Math.max(500, Date.parse(deletionTimestamp) + 5_500 - nowMs) };
}
