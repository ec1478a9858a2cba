import type { AttemptEnd } from '#domain/jobs/attempts.ts';
import { type JobError, jobErrorOf } from '#domain/job-error.ts';
import type { Job } from '#domain/jobs/job.ts';
import { isFinal, type JobPhase } from '#domain/jobs/status.ts';
import type { MediaJobStatus } from '#domain/kubernetes/media-job.ts';
import type { RunnerPoolSpec } from '#domain/kubernetes/runner-pool.ts';
import type { KubeObject, MediaJob } from '#platform/kubernetes/objects.ts';
import { needsContentKey } from '#jobs/step-access.ts';
import { endOfAttempt } from './attempt-end.ts';
import { endOfJob, hasEnded, isOfRow, isPodOver, type JobSnapshot, type PodSnapshot } from '../snapshots.ts';
import { activeStatus, finalStatus, isWorthWriting, refusedStatus } from './status.ts';
import { type PodProblem, podProblemOf } from './pod-problem.ts';

/*
 * What is to be done for a MediaJob, from everything that is seen of it: pure, so that every case is a line of a table.
 *
 *   no row ──adopt──▶ row waits for a slot ──claim (admission)──▶ row is held
 *   held, no Job of the attempt ──▶ create the Job ──▶ pod ──▶ settle: completed, failed, or the next attempt
 *   row final ──▶ one status write ──▶ after its time, the MediaJob goes
 *
 * Postgres is the truth: the row says which attempt counts and whether it is over. The Job of an attempt is made once,
 * by the leader that claimed the attempt. Where there is no Job, and no certainty that there was none, it was taken away
 * or never made, and its attempt is a disruption, which costs nothing: making the Job again could have two pods write
 * under one revision.
 *
 * A job that is over in a moment is told of once, at its end: each write of a status costs the API server as much as
 * everything else that a worker does for a job. While many jobs run at once, how far each of them is is told less often
 * (progress-pace.ts); troubles and ends never wait.
 */

/** Everything that is seen of one MediaJob. */
export interface Observed {
  readonly mediaJob: MediaJob;
  /** Null: there is none (yet). */
  readonly row: Job | null;
  /** The Job of the row's attempt. */
  readonly job: JobSnapshot | null;
  /** A Job was made a moment ago, and the cache does not show it yet. */
  readonly isJobUnderway: boolean;
  /** It is sure that no Job of the row's attempt was made yet. */
  readonly isJobUnmade: boolean;
  /** How long the attempt has been seen at work; 0: it is not, or this is the first time. */
  readonly atWorkMs: number;
  /** Jobs of other attempts whose pods may run. One that has ended by itself stays for its time, with its log. */
  readonly otherJobs: readonly JobSnapshot[];
  readonly pod: PodSnapshot | null;
  readonly pool: { readonly name: string; readonly spec: RunnerPoolSpec | null };
  /** Whether the pool's concurrency allows one more Job. */
  readonly hasRoom: boolean;
  /** Why the Job controller could not make the pod; null: it does not say so. */
  readonly denied: string | null;
  /** How long ago the status was written by this process. */
  readonly sinceWrittenMs: number;
  /** Whether the pace of progress allows one more write. */
  readonly mayTellProgress: boolean;
}

export type Action =
  | { readonly do: 'adopt' }
  | { readonly do: 'createJob' }
  /** The content keys of the row's attempts go, before anybody is told of the end. */
  | { readonly do: 'deleteKeys' }
  | { readonly do: 'deleteJob'; readonly job: JobSnapshot }
  /** The attempt has ended. */
  | { readonly do: 'settle'; readonly end: AttemptEnd }
  /** The job ends without a word of a runner. */
  | { readonly do: 'fail'; readonly error: JobError }
  | { readonly do: 'report'; readonly phase: JobPhase }
  /** `isProgress`: it only says how far the job is, and may come later. */
  | { readonly do: 'writeStatus'; readonly status: MediaJobStatus; readonly isProgress?: true }
  | { readonly do: 'tell'; readonly trouble: PodProblem }
  | { readonly do: 'remove' };

export interface Plan {
  readonly actions: readonly Action[];
  /** When to look again at the latest, if nothing happens before. */
  readonly againMs?: number;
  /** Look again when the pool has room. */
  readonly waitsForRoom?: boolean;
  /** Another job's row, made by an equal submission, is what this MediaJob shows. */
  readonly followsRow?: boolean;
}

export interface PlanSettings {
  readonly pendingDeadlineMs: number;
  readonly mediaJobTtlMs: number;
}

const nothing: Plan = { actions: [] };
/** A pod of a busy cluster waits that long for its node without trouble; a shorter wait is not told of. */
const troubleAfterMs = 5_000;
/** Work that is over within this is told of by its end alone. */
const briefWorkMs = 1_000;
/** A job that waits for a slot or for its next attempt is looked at again so often. */
const waitingLookEveryMs = 15_000;
/** A pod that waits without trouble is looked at again so often. */
const pendingLookEveryMs = 15_000;
/** What could not be told for the pace of it is tried again after this. */
const progressLaterMs = 10_000;
/** Another's row is looked at again so often. */
const followEveryMs = 2_000;

/** What is to be done now; pure. */
export function plan(o: Observed, nowMs: number, settings: PlanSettings): Plan {
  const { mediaJob, row } = o;
  if (mediaJob.metadata?.deletionTimestamp !== undefined) return nothing;
  if (hasEnded(mediaJob)) return planEnded(o, nowMs, settings);
  if (row === null) {
    if (!isOfRow(mediaJob)) return { actions: [{ do: 'adopt' }], againMs: 0 };
    const status = refusedStatus(mediaJob, 'There is no such job in the database.', nowMs);
    return { actions: [{ do: 'writeStatus', status }], againMs: settings.mediaJobTtlMs };
  }
  const pool = o.pool.name;
  if (isFinal(row.status)) {
    const status = finalStatus({ mediaJob, row, pool, nowMs, begunAt: o.job?.metadata.creationTimestamp });
    // A Job of a completed attempt ends by itself within a second; any other is stopped.
    const stops = row.status === 'completed' ? [] : deletions([atWork(o), ...o.otherJobs]);
    const keys: Action[] = needsContentKey(row) ? [{ do: 'deleteKeys' }] : [];
    return { actions: [...stops, ...keys, { do: 'writeStatus', status }], againMs: settings.mediaJobTtlMs };
  }
  if (!isOfRow(mediaJob) && row.id !== mediaJob.metadata?.uid) return planFollower(o, row, nowMs);
  return paced(planActive(o, row, nowMs, settings), o);
}

function paced(planned: Plan, { mayTellProgress }: Observed): Plan {
  const actions = planned.actions.filter((action) => !(action.do === 'writeStatus' && action.isProgress === true));
  if (mayTellProgress || actions.length === planned.actions.length) return planned;
  return { ...planned, actions, againMs: Math.min(planned.againMs ?? Infinity, progressLaterMs) };
}

function planEnded(
  { mediaJob, row, job, pod, otherJobs }: Observed,
  nowMs: number,
  { mediaJobTtlMs }: PlanSettings,
): Plan {
  const isCompleted = row?.status === 'completed';
  const actions: Action[] = isCompleted ? deletions(otherJobs) : deletions([atWork({ job, pod }), ...otherJobs]);
  // etcd is not the history: a MediaJob goes, but only after Postgres has its end.
  if (row !== null && !isFinal(row.status)) return { actions };
  const endedMs = Date.parse(mediaJob.status?.completionTime ?? '') || nowMs;
  const leftMs = endedMs + mediaJobTtlMs - nowMs;
  if (leftMs <= 0) return { actions: [...actions, { do: 'remove' }] };
  return { actions, againMs: leftMs };
}

function planFollower(o: Observed, row: Job, nowMs: number): Plan {
  const status = activeStatus({ mediaJob: o.mediaJob, row, pool: o.pool.name, trouble: null, nowMs });
  const isNews = isWorthWriting(o.mediaJob.status, status, o.sinceWrittenMs);
  return { actions: isNews ? [{ do: 'writeStatus', status }] : [], againMs: followEveryMs, followsRow: true };
}

function planActive(o: Observed, row: Job, nowMs: number, settings: PlanSettings): Plan {
  const { mediaJob, job } = o;
  const stale = deletions(o.otherJobs);
  if (mediaJob.spec.suspend === true) {
    return { actions: [...stale, ...deletions([job]), ...statusWrite(o, row, null, nowMs)] };
  }
  if (!isHeld(row)) return planWaiting(o, row, stale, nowMs);
  if (job === null) return planWithoutJob(o, row, stale, nowMs);
  const end = endOfAttempt({ attempt: row.attempt, job, pod: o.pod }, nowMs);
  if (end !== null) return { actions: [...stale, { do: 'settle', end }], againMs: 0 };
  const running = phaseOfPod(o.pod);
  if (running !== null) {
    if (!isTold(o, row) && o.atWorkMs < briefWorkMs) return { actions: stale, againMs: briefWorkMs - o.atWorkMs };
    const reports: Action[] = isLater(running, row.phase) ? [{ do: 'report', phase: running }] : [];
    return { actions: [...stale, ...reports, ...statusWrite(o, row, null, nowMs)], ...overdueOf(o.pod, nowMs) };
  }
  return planPending(o, row, { stale, nowMs, settings });
}

/** Whether the status says that the row's attempt has begun. */
function isTold({ mediaJob }: Observed, row: Job): boolean {
  return mediaJob.status?.attempt === row.attempt;
}

/** Nobody holds the row: it waits for admission, which calls again, or is cancelled, which nobody tells. */
function planWaiting(o: Observed, row: Job, stale: readonly Action[], nowMs: number): Plan {
  const message = 'It waits for a slot of its pool.';
  const queued: PodProblem = { phase: 'admitted', reason: 'Queued', message, code: 'internal' };
  // Who applied it with kubectl sees that it was taken; one that was made for a row begins at once.
  const isNew = o.mediaJob.status?.phase === undefined && !isOfRow(o.mediaJob);
  const leftMs = troubleAfterMs - waitedMs(o.mediaJob, nowMs);
  if (isNew && leftMs > 0) return { actions: stale, againMs: leftMs };
  const writes = isNew ? statusWrite(o, row, queued, nowMs, false) : [];
  return { actions: [...stale, ...writes], againMs: waitingLookEveryMs };
}

function planWithoutJob(o: Observed, row: Job, stale: readonly Action[], nowMs: number): Plan {
  if (o.isJobUnderway) return { actions: stale };
  if (!o.isJobUnmade) {
    return { actions: [...stale, { do: 'settle', end: { kind: 'disrupted' } }], againMs: 0 };
  }
  if (o.pool.spec === null) {
    const message = `There is no RunnerPool ${o.pool.name}.`;
    const trouble: PodProblem = { phase: 'unschedulable', reason: 'PoolNotFound', message, code: 'resource_exhausted' };
    // Without an attempt in it: none has begun.
    return { actions: [...stale, ...troubleWrite(o, row, trouble, nowMs, false)], waitsForRoom: true };
  }
  if (!o.hasRoom) return { actions: stale, waitsForRoom: true };
  return { actions: [...stale, { do: 'createJob' }], againMs: troubleAfterMs };
}

interface PendingInput {
  readonly stale: readonly Action[];
  readonly nowMs: number;
  readonly settings: PlanSettings;
}

/** The Job is there, and no step has begun. */
function planPending(o: Observed, row: Job, { stale, nowMs, settings }: PendingInput): Plan {
  const waited = waitedMs(o.pod ?? o.job, nowMs);
  const trouble = podProblemOf(o.pod, o.denied);
  if (waited >= settings.pendingDeadlineMs) {
    const what = trouble === null ? 'Its pod did not begin.' : `${trouble.reason}: ${trouble.message}`;
    const error = jobErrorOf(trouble?.code ?? 'resource_exhausted', row.attempt, what.slice(0, 1_000));
    return { actions: [...stale, { do: 'fail', error }], againMs: 0 };
  }
  if (waited < troubleAfterMs && !isTold(o, row)) {
    return { actions: stale, againMs: Math.min(troubleAfterMs, settings.pendingDeadlineMs) - waited };
  }
  const shown = waited >= troubleAfterMs ? trouble : null;
  const againMs = Math.min(settings.pendingDeadlineMs - waited, shown === null ? pendingLookEveryMs : 60_000);
  return { actions: [...stale, ...troubleWrite(o, row, shown, nowMs, true)], againMs: Math.max(100, againMs) };
}

/** How long ago an object was made; Kubernetes gives times in whole seconds, so it may be up to one less. */
function waitedMs(object: Pick<KubeObject, 'metadata'> | null, nowMs: number): number {
  return nowMs - (Date.parse(object?.metadata?.creationTimestamp ?? '') || nowMs);
}

function troubleWrite(o: Observed, row: Job, trouble: PodProblem | null, nowMs: number, isBegun: boolean): Action[] {
  const writes = statusWrite(o, row, trouble, nowMs, isBegun);
  return trouble === null || writes.length === 0 ? writes : [...writes, { do: 'tell', trouble }];
}

function statusWrite(o: Observed, row: Job, trouble: PodProblem | null, nowMs: number, isBegun = true): Action[] {
  const { mediaJob, pool, sinceWrittenMs } = o;
  const status = activeStatus({ mediaJob, row, pool: pool.name, trouble, nowMs });
  const { attempt = 0 } = mediaJob.status ?? {};
  // A suspended job that has no Job keeps the attempt that was begun last, which may be none.
  const isOfAttempt = isBegun && (o.job !== null || attempt === row.attempt);
  const { attempt: _, ...rest } = status;
  const wanted = isOfAttempt ? status : attempt === 0 ? rest : { ...rest, attempt };
  if (!isWorthWriting(mediaJob.status, wanted, sinceWrittenMs)) return [];
  const isProgress = trouble === null && mediaJob.spec.suspend !== true;
  return [{ do: 'writeStatus', status: wanted, ...(isProgress ? { isProgress } : {}) }];
}

/** Whether an executor has claimed the row: one that waits for its next attempt is `admitted` again. */
function isHeld({ status, phase }: Pick<Job, 'status' | 'phase'>): boolean {
  return status === 'processing' && phase !== 'admitted';
}

/** The Job of the attempt, unless its pod has ended. */
function atWork({ job, pod }: Pick<Observed, 'job' | 'pod'>): JobSnapshot | null {
  return pod !== null && isPodOver(pod) ? null : job;
}

function deletions(jobs: readonly (JobSnapshot | null)[]): Action[] {
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

/** What a pod that has begun is at; null: no step has begun. A runner that reports says more. */
function phaseOfPod(pod: PodSnapshot | null): JobPhase | null {
  const begun = (pod?.containers ?? []).filter(({ isRunning, terminated }) => isRunning || terminated !== undefined);
  const last = begun.at(-1);
  return last === undefined ? null : (phaseOfStep[last.name] ?? null);
}

const phaseOrder: readonly (JobPhase | null)[] = [null, 'admitted', 'scheduling', 'probing', 'encoding', 'packaging'];

function isLater(phase: JobPhase, than: JobPhase | null): boolean {
  const index = phaseOrder.indexOf(than);
  return index !== -1 && phaseOrder.indexOf(phase) > index;
}

/** A pod that is to go is looked at again when it should be gone: its node may be no more. */
function overdueOf(pod: PodSnapshot | null, nowMs: number): { againMs?: number } {
  const { deletionTimestamp } = pod?.metadata ?? {};
  return deletionTimestamp === undefined
    ? {}
    : { againMs: Math.max(500, Date.parse(deletionTimestamp) + 5_500 - nowMs) };
}
