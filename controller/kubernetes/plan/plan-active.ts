import type { Job } from '#domain/jobs/job.ts';
import type { JobPhase } from '#domain/jobs/status.ts';
import { unitKindRow } from '#domain/work/unit.ts';
import { lastFinishedMs, type PodSnapshot } from '../snapshots/pod.ts';
import { endOfAttempt } from './attempt-end.ts';
import { type Action, isParallel, type Observed, type Plan, type PlanSettings } from './observed.ts';
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
  const { mediaJob } = observed;
  const { job, pod, runningMs, unreadyNode } = observed.current;
  const stops = deletionsOf(observed.otherJobs);
  if (mediaJob.spec.suspend === true) {
    const writes = statusWrite(observed, row, { problem: null, nowMs });
    return { actions: [...stops, ...deletionsOf([job]), ...phaseReport(row, 'suspended'), ...writes] };
  }
  if (!isClaimed(row)) return planUnclaimed(observed, row, stops, nowMs);
  if (job === null) return planWithoutJob(observed, row, { stops, nowMs, settings });
  if (isParallel(observed)) return planChunks(observed, row, { job, stops, nowMs, settings });
  const end = endOfAttempt({ attempt: row.attempt, job, pod }, nowMs);
  if (end?.kind === 'done' && (observed.units?.next != null || observed.units?.isUnread === true))
    return planCreation(observed, row, { stops, nowMs, settings });
  if (end !== null) return { actions: [...stops, { do: 'concludeAttempt', end }], requeueAfterMs: 0 };
  if (job.isSuspended) return planSuspendedJob(observed, row, { job, stops, nowMs });
  const phase = phaseOf(observed);
  if (phase === null) {
    const stalledAt = pod === null ? null : lastFinishedMs(pod);
    const waitedMs = nowMs - (stalledAt ?? pendingSince(pod, job, nowMs));
    return planPending(observed, row, { stops, nowMs, settings, waitedMs });
  }
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
  if (observed.storageProblem !== null) return planStorageAway(observed, row, stops, nowMs);
  return planWaiting(observed, row, stops, nowMs);
}

function planWithoutJob(observed: Observed, row: Job, input: WaitingInput): Plan {
  const { stops } = input;
  const { isBeingCreated, isNeverCreated } = observed.current;
  if (!isBeingCreated && observed.pool.spec !== null && !isNeverCreated) {
    return { actions: [...stops, { do: 'concludeAttempt', end: { kind: 'disrupted' } }], requeueAfterMs: 0 };
  }
  return planCreation(observed, row, input);
}

const phaseOfStep: Readonly<Record<string, JobPhase>> = {
  fetch: 'probing',
  process: 'encoding',
  publish: 'packaging',
  all: 'encoding',
};

/** The phase of the step that runs; null while no step does. A runner's own reports are finer. */
function phaseOf({ current: { pod }, units }: Observed): JobPhase | null {
  const step = pod?.containers.findLast(({ isRunning }) => isRunning);
  const phase = step === undefined ? null : (phaseOfStep[step.name] ?? null);
  // `split` publishes chunk sources, not the stream, so the phase stays `encoding`.
  const isOutput = units === null || unitKindRow(units.kind).packagesOutput;
  return phase === 'packaging' && !isOutput ? 'encoding' : phase;
}

/** The phases of a claimed row up to the last that a step has. */
const phaseOrder: readonly (JobPhase | null)[] = [null, 'scheduling', 'suspended', 'probing', 'encoding', 'packaging'];

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
