import { jobErrorOf } from '#domain/job-error.ts';
import type { AttemptEnd } from '#domain/jobs/attempts.ts';
import type { Job } from '#domain/jobs/job.ts';
import type { JobPhase } from '#domain/jobs/status.ts';
import { createdMs } from '../snapshots/pod.ts';
import type { Attempt } from './attempt.ts';
import { chunkCheckMs, chunksProgressReport, ofChunk, scalingOf, untilPodsEnd, withScaling } from './chunk-actions.ts';
import { type Action, deletionsOf, type Plan } from './observed.ts';
import {
  nodeProblemOf,
  type PodProblem,
  podProblemOf,
  problemAfterMs,
  type ShownProblem,
  storageCheckMs,
  storageMessage,
} from './pod-problem.ts';
import { type AttemptSituation, briefAttemptMs } from './rules.ts';
import { problemWrite, statusWrite } from './shown.ts';
import { timeOf } from './status.ts';

/** How often a job is checked that waits for a slot or for its next attempt. */
const waitingCheckMs = 15_000;
/** How often a pod is checked that waits without a problem. */
const pendingCheckMs = 15_000;

const notBegun = { hasBegun: false };
const nothing: Plan = { actions: [] };

/** The plan for each situation of an attempt, beside the deletion of Jobs of other attempts. */
export const attemptActions: { readonly [Situation in AttemptSituation]: (attempt: Attempt) => Plan } = {
  suspended: (attempt) => {
    const deletions = deletionsOf([attempt.current.job]);
    return { actions: [...deletions, ...phaseReport(attempt, 'suspended'), ...statusWrite(attempt, null)] };
  },
  lost: () => conclude({ kind: 'disrupted' }),
  being_created: () => nothing,
  without_pool: waitForPool,
  storage_away: waitForStorage,
  queued: waitForSlot,
  to_create: () => ({ actions: [{ do: 'createJob' }], requeueAfterMs: problemAfterMs }),
  storage_outage: (attempt) => {
    const waits = waitForStorage(attempt);
    const deletions = attempt.chunks?.outage?.deletesJob === true ? deletionsOf([attempt.current.job]) : [];
    return { ...waits, actions: [...waits.actions, ...deletions] };
  },
  ended_attempt: ({ end }) => (end === null ? nothing : conclude(end)),
  job_suspended: waitForResumption,
  on_lost_nodes: ({ current }) => ({ actions: deletionsOf([current.job]) }),
  kept_running: untilPodsEnd,
  out_of_slots: (attempt) => ({ ...withScaling(attempt, waitForSlot(attempt)), requeueAfterMs: chunkCheckMs }),
  never_began: (attempt) => withScaling(attempt, fail(attempt.row, pendingProblem(attempt) ?? unknownProblem)),
  // A pool or image was corrected: the attempt is repeated with the new settings, as after a disruption.
  outdated: (attempt) => withScaling(attempt, { actions: deletionsOf([attempt.current.job]) }),
  beginning: (attempt) => withScaling(attempt, { actions: [], requeueAfterMs: untilShownMs(attempt) }),
  pending: (attempt) => withScaling(attempt, showPending(attempt)),
  chunk_never_began: ({ row, chunks }) => fail(row, chunks?.stuck?.problem ?? unknownProblem),
  chunks_running: showChunks,
  node_not_ready: showUnreadyNode,
  brief: ({ current }) => ({ actions: [], requeueAfterMs: briefAttemptMs - current.runningMs }),
  running: showProgress,
};

function conclude(end: AttemptEnd): Plan {
  return { actions: [{ do: 'concludeAttempt', end }], requeueAfterMs: 0 };
}

/** The job fails: what keeps it from starting has lasted past the pending deadline. */
function fail(row: Job, problem: Omit<PodProblem, 'phase'>): Plan {
  const message = `${problem.reason}: ${problem.message}`.slice(0, 1_000);
  return { actions: [{ do: 'failJob', error: jobErrorOf(problem.code, row.attempt, message) }], requeueAfterMs: 0 };
}

const unknownProblem: Omit<PodProblem, 'phase'> = {
  reason: 'PodPending',
  message: 'Its pod did not begin.',
  code: 'resource_exhausted',
};

function poolNotFound(name: string): PodProblem {
  const message = `There is no RunnerPool ${name}.`;
  return { phase: 'unschedulable', reason: 'PoolNotFound', message, code: 'resource_exhausted' };
}

/** The job waits for its pool without a new attempt, until the pending deadline. */
function waitForPool(attempt: Attempt): Plan {
  const { mediaJob, row, pool, nowMs, settings } = attempt;
  const problem = poolNotFound(pool.name);
  const shown = mediaJob.status?.conditions?.find(({ reason }) => reason === problem.reason);
  const leftMs = settings.pendingDeadlineMs - (nowMs - Date.parse(shown?.lastTransitionTime ?? timeOf(nowMs)));
  if (leftMs <= 0) return fail(row, problem);
  return { actions: problemWrite(attempt, problem, notBegun), requeueAfterMs: leftMs };
}

/** No attempt starts while the object storage is away: it would fail. */
function waitForStorage(attempt: Attempt): Plan {
  const message = `${storageMessage(attempt.storageProblem)}; the job continues once it does.`;
  const problem: ShownProblem = { phase: 'queued', reason: 'StorageUnavailable', message };
  return { actions: statusWrite(attempt, problem, notBegun), requeueAfterMs: storageCheckMs };
}

/**
 * The job waits for a slot of its pool, for its next attempt, or for the pool; a brief wait is not shown. Unclaimed:
 * admission requeues the MediaJob when it claims the row; a cancellation is found by polling.
 */
function waitForSlot(attempt: Attempt): Plan {
  const { row, pool, units, nowMs } = attempt;
  const leftMs = problemAfterMs - (nowMs - row.updatedAt.getTime());
  if (leftMs > 0) return { actions: [], requeueAfterMs: Math.min(leftMs, problemAfterMs) };
  const { name, spec } = pool;
  const full = `It waits for a slot of the RunnerPool ${name}, whose concurrency is ${spec?.concurrency ?? 0}.`;
  const message = units?.turn == null ? full : `Its next chunk waits for the turn of its key: ${units.turn}.`;
  const queued: ShownProblem = { phase: 'queued', reason: 'Queued', message };
  const problem = spec === null ? poolNotFound(name) : queued;
  return { actions: statusWrite(attempt, problem, notBegun), requeueAfterMs: waitingCheckMs };
}

/** Something has suspended the Job, as Kueue does until its queue admits the Job: no deadline runs meanwhile. */
function waitForResumption(attempt: Attempt): Plan {
  const { current, nowMs } = attempt;
  const leftMs = problemAfterMs - (current.job === null ? 0 : nowMs - createdMs(current.job, nowMs));
  if (leftMs > 0) return { actions: [], requeueAfterMs: leftMs };
  const message = 'Its Job is suspended, as by Kueue until its queue admits the Job.';
  const problem: ShownProblem = { phase: 'suspended', reason: 'JobSuspended', message };
  return { actions: [...phaseReport(attempt, 'suspended'), ...statusWrite(attempt, problem, notBegun)] };
}

/** Reports the start or the end of a suspension to callers of the API. */
function phaseReport({ row, isClaimed }: Attempt, phase: 'suspended' | 'scheduling'): Action[] {
  const isChange = (row.phase === 'suspended') !== (phase === 'suspended');
  return isClaimed && isChange ? [{ do: 'reportPhase', phase }] : [];
}

function untilShownMs({ pendingMs, settings }: Attempt): number {
  return Math.min(problemAfterMs, settings.pendingDeadlineMs) - (pendingMs ?? 0);
}

/** The problem that keeps the first or next step of a Job from starting; null while nothing is known. */
function pendingProblem(attempt: Attempt): PodProblem | null {
  const { pod, podCreationFailure, unreadyNode } = attempt.current;
  const silence = unreadyNode === null ? null : nodeProblemOf(unreadyNode, 'scheduling');
  return ofChunk(podProblemOf(pod, podCreationFailure) ?? silence, attempt);
}

function showPending(attempt: Attempt): Plan {
  const { pendingMs, settings, row } = attempt;
  const waitedMs = pendingMs ?? 0;
  const shown = waitedMs >= problemAfterMs ? withKnownPhase(pendingProblem(attempt), row) : null;
  const checkMs = Math.min(settings.pendingDeadlineMs - waitedMs, shown === null ? pendingCheckMs : 60_000);
  const actions = [...phaseReport(attempt, 'scheduling'), ...problemWrite(attempt, shown)];
  return { actions, requeueAfterMs: Math.max(100, checkMs) };
}

/** A step that cannot start after earlier ones keeps the phase of its job, unless the job was suspended meanwhile. */
function withKnownPhase(problem: PodProblem | null, { phase }: Job): PodProblem | null {
  const isKnown = problem?.phase === 'scheduling' && phase !== null && phase !== 'suspended';
  return isKnown ? { ...problem, phase } : problem;
}

/** Chunks are encoded; a problem of one of them, or of its node, is shown. */
function showChunks(attempt: Attempt): Plan {
  const { row, chunks, current } = attempt;
  const phase = row.phase ?? 'encoding';
  const ofNode = current.unreadyNode === null ? null : ofChunk(nodeProblemOf(current.unreadyNode, phase), attempt);
  const ofPod = chunks?.stuck?.problem ?? podProblemOf(null, current.podCreationFailure);
  const problem = ofNode ?? (ofPod === null ? null : { ...ofPod, phase });
  const actions = [...scalingOf(attempt), ...chunksProgressReport(attempt), ...problemWrite(attempt, problem)];
  return { actions, requeueAfterMs: chunkCheckMs };
}

function showUnreadyNode(attempt: Attempt): Plan {
  const { row, phase, current } = attempt;
  const problem =
    current.unreadyNode === null ? null : nodeProblemOf(current.unreadyNode, row.phase ?? phase ?? 'scheduling');
  return { actions: problemWrite(attempt, problem), ...requeueAtDeletion(attempt) };
}

/** The phases of a claimed row up to the last that a step has. */
const phaseOrder: readonly (JobPhase | null)[] = [null, 'scheduling', 'suspended', 'probing', 'encoding', 'packaging'];

function showProgress(attempt: Attempt): Plan {
  const { phase, row } = attempt;
  const index = phaseOrder.indexOf(row.phase);
  const isLater = index !== -1 && phaseOrder.indexOf(phase) > index;
  const reports: Action[] = isLater && phase !== null ? [{ do: 'reportPhase', phase }] : [];
  return { actions: [...reports, ...statusWrite(attempt, null)], ...requeueAtDeletion(attempt) };
}

/** A pod that is being deleted is checked again when it should be deleted: its node may be dead. */
function requeueAtDeletion({ current: { pod }, nowMs }: Attempt): { requeueAfterMs?: number } {
  const { deletionTimestamp } = pod?.metadata ?? {};
  if (deletionTimestamp === undefined) return {};
  return { requeueAfterMs: Math.max(500, Date.parse(deletionTimestamp) + 5_500 - nowMs) };
}
