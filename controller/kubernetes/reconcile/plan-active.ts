import { jobErrorOf } from '#domain/job-error.ts';
import type { Job } from '#domain/jobs/job.ts';
import type { JobPhase } from '#domain/jobs/status.ts';
import type { KubeObject } from '#platform/kubernetes/objects.ts';
import { endOfJob, isOfApiJob, type JobSnapshot, type PodSnapshot } from '../snapshots.ts';
import { endOfAttempt } from './attempt-end.ts';
import type { Action, Observed, Plan, PlanSettings } from './observed.ts';
import { type PodProblem, podProblemOf } from './pod-problem.ts';
import { activeStatus, isWorthWriting } from './status.ts';

/** A pod of a busy cluster may wait this long for its node: a shorter wait is not shown. */
const problemAfterMs = 5_000;
/** An attempt that runs for less than this shows only its end. */
const briefAttemptMs = 1_000;
/** How often a job is checked that waits for a slot or for its next attempt. */
const waitingCheckMs = 15_000;
/** How often a pod is checked that waits without a problem. */
const pendingCheckMs = 15_000;

/** The plan for a MediaJob whose row is active. */
export function planActive(observed: Observed, row: Job, nowMs: number, settings: PlanSettings): Plan {
  const { mediaJob, job, pod, runningMs } = observed;
  const stops = deletionsOf(observed.otherJobs);
  if (mediaJob.spec.suspend === true) {
    return { actions: [...stops, ...deletionsOf([job]), ...statusWrite(observed, row, { problem: null, nowMs })] };
  }
  if (!isClaimed(row)) return planUnclaimed(observed, row, stops, nowMs);
  if (job === null) return planWithoutJob(observed, row, stops, nowMs);
  const end = endOfAttempt({ attempt: row.attempt, job, pod }, nowMs);
  if (end !== null) return { actions: [...stops, { do: 'concludeAttempt', end }], requeueAfterMs: 0 };
  const phase = phaseOfPod(pod);
  if (phase === null) return planPending(observed, row, { stops, nowMs, settings });
  if (!showsAttempt(observed, row) && runningMs < briefAttemptMs) {
    return { actions: stops, requeueAfterMs: briefAttemptMs - runningMs };
  }
  const reports: Action[] = isLater(phase, row.phase) ? [{ do: 'reportPhase', phase }] : [];
  const writes = statusWrite(observed, row, { problem: null, nowMs });
  return { actions: [...stops, ...reports, ...writes], ...requeueAtDeletion(pod, nowMs) };
}

/** Unclaimed: admission requeues the MediaJob when it claims the row; a cancellation is found by polling. */
function planUnclaimed(observed: Observed, row: Job, stops: readonly Action[], nowMs: number): Plan {
  const { mediaJob } = observed;
  // The MediaJob of an API job begins at once; a user with kubectl sees that a submission was accepted.
  const isNew = mediaJob.status?.phase === undefined && !isOfApiJob(mediaJob);
  const leftMs = problemAfterMs - ageMs(mediaJob, nowMs);
  if (isNew && leftMs > 0) return { actions: stops, requeueAfterMs: leftMs };
  const message = 'It waits for a slot of its pool.';
  const problem: PodProblem = { phase: 'admitted', reason: 'Queued', message, code: 'internal' };
  const writes = isNew ? statusWrite(observed, row, { problem, nowMs, hasBegun: false }) : [];
  return { actions: [...stops, ...writes], requeueAfterMs: waitingCheckMs };
}

function planWithoutJob(observed: Observed, row: Job, stops: readonly Action[], nowMs: number): Plan {
  if (observed.isJobBeingCreated) return { actions: stops };
  if (!observed.isJobNeverCreated) {
    return { actions: [...stops, { do: 'concludeAttempt', end: { kind: 'disrupted' } }], requeueAfterMs: 0 };
  }
  if (observed.pool.spec === null) {
    const message = `There is no RunnerPool ${observed.pool.name}.`;
    const problem: PodProblem = { phase: 'unschedulable', reason: 'PoolNotFound', message, code: 'resource_exhausted' };
    return { actions: [...stops, ...problemWrite(observed, row, { problem, nowMs, hasBegun: false })] };
  }
  if (!observed.hasCapacity) return { actions: stops };
  return { actions: [...stops, { do: 'createJob' }], requeueAfterMs: problemAfterMs };
}

interface PendingInput {
  readonly stops: readonly Action[];
  readonly nowMs: number;
  readonly settings: PlanSettings;
}

/** The Job exists, and no step has started. */
function planPending(observed: Observed, row: Job, { stops, nowMs, settings }: PendingInput): Plan {
  const { pod, job, podCreationFailure } = observed;
  const waitedMs = ageMs(pod ?? job, nowMs);
  const problem = podProblemOf(pod, podCreationFailure);
  if (waitedMs >= settings.pendingDeadlineMs) {
    const message = problem === null ? 'Its pod did not begin.' : `${problem.reason}: ${problem.message}`;
    const error = jobErrorOf(problem?.code ?? 'resource_exhausted', row.attempt, message.slice(0, 1_000));
    return { actions: [...stops, { do: 'failJob', error }], requeueAfterMs: 0 };
  }
  if (waitedMs < problemAfterMs && !showsAttempt(observed, row)) {
    return { actions: stops, requeueAfterMs: Math.min(problemAfterMs, settings.pendingDeadlineMs) - waitedMs };
  }
  const shown = waitedMs >= problemAfterMs ? problem : null;
  const checkMs = Math.min(settings.pendingDeadlineMs - waitedMs, shown === null ? pendingCheckMs : 60_000);
  const writes = problemWrite(observed, row, { problem: shown, nowMs });
  return { actions: [...stops, ...writes], requeueAfterMs: Math.max(100, checkMs) };
}

/** The age of an object; Kubernetes has times in whole seconds, so it may be up to a second less. */
function ageMs(object: Pick<KubeObject, 'metadata'> | null, nowMs: number): number {
  return nowMs - (Date.parse(object?.metadata?.creationTimestamp ?? '') || nowMs);
}

interface StatusToWrite {
  readonly problem: PodProblem | null;
  readonly nowMs: number;
  /** Whether the row's attempt has begun; default true. */
  readonly hasBegun?: boolean;
}

/** A status write, and an Event if it shows a new problem. */
function problemWrite(observed: Observed, row: Job, shown: StatusToWrite): Action[] {
  const writes = statusWrite(observed, row, shown);
  const { problem } = shown;
  return problem === null || writes.length === 0 ? writes : [...writes, { do: 'recordProblem', problem }];
}

function statusWrite(observed: Observed, row: Job, { problem, nowMs, hasBegun = true }: StatusToWrite): Action[] {
  const { mediaJob, job, pool, sinceWrittenMs } = observed;
  const status = activeStatus({ mediaJob, row, pool: pool.name, problem, nowMs });
  // A suspended job without a Job keeps showing the attempt that began last, if any.
  const showsRow = hasBegun && (job !== null || showsAttempt(observed, row));
  const { attempt: _, ...rest } = status;
  const shownAttempt = mediaJob.status?.attempt;
  const wanted = showsRow ? status : { ...rest, ...(shownAttempt === undefined ? {} : { attempt: shownAttempt }) };
  if (!isWorthWriting(mediaJob.status, wanted, sinceWrittenMs)) return [];
  const isProgress = problem === null && mediaJob.spec.suspend !== true;
  return [{ do: 'writeStatus', status: wanted, ...(isProgress ? { isProgress } : {}) }];
}

/** Whether the status shows the row's attempt. */
function showsAttempt({ mediaJob }: Observed, row: Job): boolean {
  return mediaJob.status?.attempt === row.attempt;
}

/** Whether an executor has claimed the row: one that waits for its next attempt is `admitted` again. */
function isClaimed({ status, phase }: Pick<Job, 'status' | 'phase'>): boolean {
  return status === 'processing' && phase !== 'admitted';
}

/** Deletes the Jobs that have not ended. */
export function deletionsOf(jobs: readonly (JobSnapshot | null)[]): Action[] {
  return jobs.flatMap((job) =>
    job === null || job.metadata.deletionTimestamp !== undefined || endOfJob(job) !== null
      ? []
      : [{ do: 'deleteJob' as const, job }],
  );
}

const phaseOfStep: Readonly<Record<string, JobPhase>> = {
  fetch: 'probing',
  process: 'encoding',
  publish: 'packaging',
  all: 'encoding',
};

/** The phase of the step that started last; null before the first. A runner's own reports are finer. */
function phaseOfPod(pod: PodSnapshot | null): JobPhase | null {
  const started = (pod?.containers ?? []).filter(({ isRunning, terminated }) => isRunning || terminated !== undefined);
  const last = started.at(-1);
  return last === undefined ? null : (phaseOfStep[last.name] ?? null);
}

const phaseOrder: readonly (JobPhase | null)[] = [null, 'admitted', 'scheduling', 'probing', 'encoding', 'packaging'];

function isLater(phase: JobPhase, than: JobPhase | null): boolean {
  const index = phaseOrder.indexOf(than);
  return index !== -1 && phaseOrder.indexOf(phase) > index;
}

/** A pod that is being deleted is checked again when it should be gone: its node may be dead. */
function requeueAtDeletion(pod: PodSnapshot | null, nowMs: number): { requeueAfterMs?: number } {
  const { deletionTimestamp } = pod?.metadata ?? {};
  if (deletionTimestamp === undefined) return {};
  return { requeueAfterMs: Math.max(500, Date.parse(deletionTimestamp) + 5_500 - nowMs) };
}
