import { jobErrorOf } from '#domain/job-error.ts';
import type { Job } from '#domain/jobs/job.ts';
import { chunkOf } from '../snapshots/units.ts';
import { endOfJob, type JobSnapshot } from '../snapshots/job.ts';
import { isPodOver, type PodSnapshot } from '../snapshots/pod.ts';
import type { Action, Observed, Plan, PlanSettings } from './observed.ts';
import { nodeProblemOf, type PodProblem, podProblemOf, type ShownProblem } from './pod-problem.ts';
import { isClaimed, problemWrite, showsAttempt, statusWrite } from './plan-status.ts';
import { timeOf } from './status.ts';

// The plans for a MediaJob that waits: for a slot, for the storage, for its Job to be resumed, or for its pod.

/** A pod of a busy cluster may wait this long for its node: a shorter wait is not shown. */
export const problemAfterMs = 5_000;
/** How often a job is checked that waits for a slot or for its next attempt. */
const waitingCheckMs = 15_000;
/** How often a job is checked that waits for the object storage. */
export const storageCheckMs = 5_000;
/** How often a pod is checked that waits without a problem. */
const pendingCheckMs = 15_000;

/** The Job of the next units is to be created. */
export function planCreation(observed: Observed, row: Job, input: WaitingInput): Plan {
  const { stops, nowMs } = input;
  if (observed.current.isBeingCreated) return { actions: stops };
  if (observed.pool.spec === null) return planWithoutPool(observed, row, input);
  if (observed.storageProblem !== null || observed.units?.isUnread === true)
    return planStorageAway(observed, row, stops, nowMs);
  if (!observed.pool.hasCapacity) return planWaiting(observed, row, stops, nowMs);
  return { actions: [...stops, { do: 'createJob' }], requeueAfterMs: problemAfterMs };
}

/** The pool does not exist. The job waits for it without a new attempt, until the pending deadline. */
function planWithoutPool(observed: Observed, row: Job, input: WaitingInput): Plan {
  const { stops, nowMs, settings } = input;
  const problem = poolNotFound(observed.pool.name);
  const shown = observed.mediaJob.status?.conditions?.find(({ reason }) => reason === problem.reason);
  const leftMs = settings.pendingDeadlineMs - (nowMs - Date.parse(shown?.lastTransitionTime ?? timeOf(nowMs)));
  if (leftMs <= 0) return planFailure(row, problem, stops);
  const writes = problemWrite(observed, row, { problem, nowMs, hasBegun: false });
  return { actions: [...stops, ...writes], requeueAfterMs: leftMs };
}

/** The job waits for a slot of its pool, for its next attempt, or for the pool; a brief wait is not shown. */
export function planWaiting(observed: Observed, row: Job, stops: readonly Action[], nowMs: number): Plan {
  const leftMs = problemAfterMs - (nowMs - row.updatedAt.getTime());
  if (leftMs > 0) return { actions: stops, requeueAfterMs: Math.min(leftMs, problemAfterMs) };
  const { name, spec } = observed.pool;
  const message = `It waits for a slot of the RunnerPool ${name}, whose concurrency is ${spec?.concurrency ?? 0}.`;
  const queued: ShownProblem = { phase: 'queued', reason: 'Queued', message };
  const problem = spec === null ? poolNotFound(name) : queued;
  const writes = statusWrite(observed, row, { problem, nowMs, hasBegun: false });
  return { actions: [...stops, ...writes], requeueAfterMs: waitingCheckMs };
}

function poolNotFound(name: string): PodProblem {
  const message = `There is no RunnerPool ${name}.`;
  return { phase: 'unschedulable', reason: 'PoolNotFound', message, code: 'resource_exhausted' };
}

/** No attempt starts while the object storage is away: it would fail. */
export function planStorageAway(observed: Observed, row: Job, stops: readonly Action[], nowMs: number): Plan {
  const message = `${storageMessage(observed.storageProblem)}; the job continues once it does.`;
  const problem: ShownProblem = { phase: 'queued', reason: 'StorageUnavailable', message };
  const writes = statusWrite(observed, row, { problem, nowMs, hasBegun: false });
  return { actions: [...stops, ...writes], requeueAfterMs: storageCheckMs };
}

/** A problem of the object storage as a status shows it. */
export function storageMessage(problem: string | null): string {
  return `The object storage does not answer${problem === null ? '' : `: ${problem}`}`;
}

/** Something has suspended the Job, as Kueue does until its queue admits the Job: no deadline runs meanwhile. */
export function planSuspendedJob(observed: Observed, row: Job, { job, stops, nowMs }: SuspendedInput): Plan {
  const leftMs = problemAfterMs - ageMs(job, nowMs);
  if (leftMs > 0) return { actions: stops, requeueAfterMs: leftMs };
  const message = 'Its Job is suspended, as by Kueue until its queue admits the Job.';
  const problem: ShownProblem = { phase: 'suspended', reason: 'JobSuspended', message };
  const writes = statusWrite(observed, row, { problem, nowMs, hasBegun: false });
  return { actions: [...stops, ...phaseReport(row, 'suspended'), ...writes] };
}

/** Reports the start or the end of a suspension to callers of the API. */
export function phaseReport(row: Job, phase: 'suspended' | 'scheduling'): Action[] {
  const isChange = (row.phase === 'suspended') !== (phase === 'suspended');
  return isClaimed(row) && isChange ? [{ do: 'reportPhase', phase }] : [];
}

/** The job fails: what keeps it from starting has lasted past the pending deadline. */
export function planFailure(row: Job, problem: Omit<PodProblem, 'phase'>, stops: readonly Action[]): Plan {
  const message = `${problem.reason}: ${problem.message}`.slice(0, 1_000);
  const error = jobErrorOf(problem.code, row.attempt, message);
  return { actions: [...stops, { do: 'failJob', error }], requeueAfterMs: 0 };
}

/** What each of these plans is given. */
export interface WaitingInput {
  /** Of Jobs of other attempts. */
  readonly stops: readonly Action[];
  readonly nowMs: number;
  readonly settings: PlanSettings;
}

interface SuspendedInput extends Omit<WaitingInput, 'settings'> {
  readonly job: JobSnapshot;
}

interface PendingInput extends WaitingInput {
  /** How long the next step has not started. */
  readonly waitedMs: number;
}

const unknownProblem: Omit<PodProblem, 'phase'> = {
  reason: 'PodPending',
  message: 'Its pod did not begin.',
  code: 'resource_exhausted',
};

/** The Job exists, and its first or next step has not started. */
export function planPending(observed: Observed, row: Job, { stops, nowMs, settings, waitedMs }: PendingInput): Plan {
  const { pod, job, podCreationFailure, unreadyNode, isOutdated } = observed.current;
  const silence = unreadyNode === null ? null : nodeProblemOf(unreadyNode, 'scheduling');
  const problem = ofChunk(podProblemOf(pod, podCreationFailure) ?? silence, observed);
  if (waitedMs >= settings.pendingDeadlineMs) return planFailure(row, problem ?? unknownProblem, stops);
  // A pool or image that was corrected: the attempt is repeated with the new settings, as after a disruption.
  if (isOutdated && waitedMs >= problemAfterMs) return { actions: [...stops, ...deletionsOf([job])] };
  if (waitedMs < problemAfterMs && !showsAttempt(observed, row)) {
    return { actions: stops, requeueAfterMs: Math.min(problemAfterMs, settings.pendingDeadlineMs) - waitedMs };
  }
  const shown = waitedMs >= problemAfterMs ? withKnownPhase(problem, row) : null;
  const checkMs = Math.min(settings.pendingDeadlineMs - waitedMs, shown === null ? pendingCheckMs : 60_000);
  const writes = problemWrite(observed, row, { problem: shown, nowMs });
  const actions = [...stops, ...phaseReport(row, 'scheduling'), ...writes];
  return { actions, requeueAfterMs: Math.max(100, checkMs) };
}

/** The problem of a chunk's pod names the chunk. */
export function ofChunk(problem: PodProblem | null, { units, current: { pod } }: Observed): PodProblem | null {
  if (problem === null || pod === null || isPodOver(pod)) return problem;
  const chunk = chunkOf(pod, units?.pending ?? null);
  return chunk === null ? problem : { ...problem, message: `Chunk ${chunk}: ${problem.message}` };
}

/** A step that cannot start after earlier ones keeps the phase of its job, unless the job was suspended meanwhile. */
function withKnownPhase(problem: PodProblem | null, { phase }: Job): PodProblem | null {
  const isKnown = problem?.phase === 'scheduling' && phase !== null && phase !== 'suspended';
  return isKnown ? { ...problem, phase } : problem;
}

/** When the pod, or without one the Job, began to wait, in milliseconds since the epoch. */
export function pendingSince(pod: PodSnapshot | null, job: JobSnapshot, nowMs: number): number {
  const resumedMs = job.resumedAt === undefined ? 0 : Date.parse(job.resumedAt);
  return Math.max(nowMs - ageMs(pod ?? job, nowMs), resumedMs);
}

/** The age of an object; Kubernetes has times in whole seconds, so it may be up to a second less. */
function ageMs({ metadata: { creationTimestamp } }: Pick<JobSnapshot, 'metadata'>, nowMs: number): number {
  return creationTimestamp === undefined ? 0 : nowMs - Date.parse(creationTimestamp);
}

/** Deletes the Jobs that have not ended. */
export function deletionsOf(jobs: readonly (JobSnapshot | null)[]): Action[] {
  return jobs.flatMap((job) =>
    job === null || job.metadata.deletionTimestamp !== undefined || endOfJob(job) !== null
      ? []
      : [{ do: 'deleteJob' as const, job }],
  );
}
