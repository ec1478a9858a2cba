import { jobErrorOf } from '#domain/job-error.ts';
import type { Job } from '#domain/jobs/job.ts';
import type { JobPhase } from '#domain/jobs/status.ts';
import type { KubeObject } from '#platform/kubernetes/objects.ts';
import { endOfJob, isOfApiJob, type JobSnapshot, type PodSnapshot } from '../snapshots.ts';
import { endOfAttempt } from './attempt-end.ts';
import type { Action, Observed, Plan, PlanSettings } from './observed.ts';
import { type PodProblem, podProblemOf } from './pod-problem.ts';
import { activeStatus, isWorthWriting, timeOf } from './status.ts';

/** A pod of a busy cluster may wait this long for its node: a shorter wait is not shown. */
const problemAfterMs = 5_000;
/** An attempt that runs for less than this shows only its end. */
const briefAttemptMs = 1_000;
/** How often a job is checked that waits for a slot or for its next attempt. */
const waitingCheckMs = 15_000;
/** How often a job is checked that waits for the object storage. */
const storageCheckMs = 5_000;
/** How often a pod is checked that waits without a problem. */
const pendingCheckMs = 15_000;

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
  const end = endOfAttempt({ attempt: row.attempt, job, pod }, nowMs);
  if (end !== null) return { actions: [...stops, { do: 'concludeAttempt', end }], requeueAfterMs: 0 };
  if (job.isSuspended) return planSuspendedJob(observed, row, stops, nowMs);
  const phase = phaseOfPod(pod);
  const stalledAt = stalledSince(pod);
  if (phase === null || stalledAt !== null) {
    const waitedMs = nowMs - (stalledAt ?? pendingSince(pod, job, nowMs));
    return planPending(observed, row, { stops, nowMs, settings, waitedMs });
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
  const { mediaJob } = observed;
  // The MediaJob of an API job begins at once; a user with kubectl sees that a submission was accepted.
  const isNew = mediaJob.status?.phase === undefined && !isOfApiJob(mediaJob);
  const leftMs = problemAfterMs - ageMs(mediaJob, nowMs);
  if (isNew && leftMs > 0) return { actions: stops, requeueAfterMs: leftMs };
  if (observed.isStorageAway) return planStorageAway(observed, row, stops, nowMs);
  const message = 'It waits for a slot of its pool.';
  const problem: PodProblem = { phase: 'queued', reason: 'Queued', message, code: 'internal' };
  const writes = isNew ? statusWrite(observed, row, { problem, nowMs, hasBegun: false }) : [];
  return { actions: [...stops, ...writes], requeueAfterMs: waitingCheckMs };
}

function planWithoutJob(
  observed: Observed,
  row: Job,
  { stops, nowMs, settings }: Omit<PendingInput, 'waitedMs'>,
): Plan {
  if (observed.isJobBeingCreated) return { actions: stops };
  if (observed.pool.spec === null) return planWithoutPool(observed, row, { stops, nowMs, settings });
  if (!observed.isJobNeverCreated) {
    return { actions: [...stops, { do: 'concludeAttempt', end: { kind: 'disrupted' } }], requeueAfterMs: 0 };
  }
  if (observed.isStorageAway) return planStorageAway(observed, row, stops, nowMs);
  if (!observed.hasCapacity) return { actions: stops };
  return { actions: [...stops, { do: 'createJob' }], requeueAfterMs: problemAfterMs };
}

/** No attempt starts while the object storage is away: it would fail. */
function planStorageAway(observed: Observed, row: Job, stops: readonly Action[], nowMs: number): Plan {
  const message = 'The object storage does not answer; the job continues once it does.';
  const problem: PodProblem = { phase: 'queued', reason: 'StorageUnavailable', message, code: 'storage_error' };
  const writes = statusWrite(observed, row, { problem, nowMs, hasBegun: false });
  return { actions: [...stops, ...writes], requeueAfterMs: storageCheckMs };
}

/** The pool does not exist. The job waits for it without a new attempt, until the pending deadline. */
function planWithoutPool(observed: Observed, row: Job, input: Omit<PendingInput, 'waitedMs'>): Plan {
  const { stops, nowMs, settings } = input;
  const message = `There is no RunnerPool ${observed.pool.name}.`;
  const problem: PodProblem = { phase: 'unschedulable', reason: 'PoolNotFound', message, code: 'resource_exhausted' };
  const shown = observed.mediaJob.status?.conditions?.find(({ reason }) => reason === problem.reason);
  const leftMs = settings.pendingDeadlineMs - (nowMs - Date.parse(shown?.lastTransitionTime ?? timeOf(nowMs)));
  if (leftMs <= 0) return planFailure(row, problem, stops);
  const writes = problemWrite(observed, row, { problem, nowMs, hasBegun: false });
  return { actions: [...stops, ...writes], requeueAfterMs: leftMs };
}

/** Something has suspended the Job, as Kueue does until its queue admits the Job: no deadline runs meanwhile. */
function planSuspendedJob(observed: Observed, row: Job, stops: readonly Action[], nowMs: number): Plan {
  const leftMs = problemAfterMs - ageMs(observed.job, nowMs);
  if (leftMs > 0) return { actions: stops, requeueAfterMs: leftMs };
  const message = 'Its Job is suspended, as by Kueue until its queue admits the Job.';
  const problem: PodProblem = { phase: 'suspended', reason: 'JobSuspended', message, code: 'internal' };
  const writes = statusWrite(observed, row, { problem, nowMs, hasBegun: false });
  return { actions: [...stops, ...phaseReport(row, 'suspended'), ...writes] };
}

/** Reports the start or the end of a suspension to callers of the API. */
function phaseReport(row: Job, phase: 'suspended' | 'scheduling'): Action[] {
  const isChange = (row.phase === 'suspended') !== (phase === 'suspended');
  return isClaimed(row) && isChange ? [{ do: 'reportPhase', phase }] : [];
}

function planFailure(row: Job, problem: PodProblem, stops: readonly Action[]): Plan {
  const message = `${problem.reason}: ${problem.message}`.slice(0, 1_000);
  const error = jobErrorOf(problem.code, row.attempt, message);
  return { actions: [...stops, { do: 'failJob', error }], requeueAfterMs: 0 };
}

interface PendingInput {
  readonly stops: readonly Action[];
  readonly nowMs: number;
  readonly settings: PlanSettings;
  /** How long the next step has not started. */
  readonly waitedMs: number;
}

const unknownProblem: PodProblem = {
  phase: 'scheduling',
  reason: 'PodPending',
  message: 'Its pod did not begin.',
  code: 'resource_exhausted',
};

/** The Job exists, and its first or next step has not started. */
function planPending(observed: Observed, row: Job, { stops, nowMs, settings, waitedMs }: PendingInput): Plan {
  const { pod, job, podCreationFailure } = observed;
  const problem = podProblemOf(pod, podCreationFailure);
  if (waitedMs >= settings.pendingDeadlineMs) return planFailure(row, problem ?? unknownProblem, stops);
  // A pool or image that was corrected: the attempt is repeated with the new settings, as after a disruption.
  if (observed.isOutdated && waitedMs >= problemAfterMs) return { actions: [...stops, ...deletionsOf([job])] };
  if (waitedMs < problemAfterMs && !showsAttempt(observed, row)) {
    return { actions: stops, requeueAfterMs: Math.min(problemAfterMs, settings.pendingDeadlineMs) - waitedMs };
  }
  const shown = waitedMs >= problemAfterMs ? problem : null;
  const checkMs = Math.min(settings.pendingDeadlineMs - waitedMs, shown === null ? pendingCheckMs : 60_000);
  const writes = problemWrite(observed, row, { problem: shown, nowMs });
  const actions = [...stops, ...phaseReport(row, 'scheduling'), ...writes];
  return { actions, requeueAfterMs: Math.max(100, checkMs) };
}

/** When the pod, or without one the Job, began to wait, in milliseconds since the epoch. */
function pendingSince(pod: PodSnapshot | null, job: JobSnapshot, nowMs: number): number {
  const resumedMs = Date.parse(job.resumedAt ?? '') || 0;
  return Math.max(nowMs - ageMs(pod ?? job, nowMs), resumedMs);
}

/** When the last step ended, in milliseconds since the epoch; null while a step runs or before the first one. */
function stalledSince(pod: PodSnapshot | null): number | null {
  const containers = pod?.containers ?? [];
  if (containers.some(({ isRunning }) => isRunning)) return null;
  const finishedAt = containers.findLast(({ terminated }) => terminated !== undefined)?.terminated?.finishedAt;
  return finishedAt === undefined ? null : Date.parse(finishedAt);
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
