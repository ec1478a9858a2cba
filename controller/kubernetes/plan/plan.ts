import { jobErrorOf } from '#domain/job-error.ts';
import type { Job } from '#domain/jobs/job.ts';
import { isFinal } from '#domain/jobs/status.ts';
import { needsContentKey } from '#domain/work/access.ts';
import { hasEnded, isOfApiJob, ownJobIdOf, remainingTtlMs } from '../snapshots/media-job.ts';
import { isPodOver } from '../snapshots/pod.ts';
import type { JobSnapshot } from '../snapshots/job.ts';
import { type Action, isParallel, type Observed, type Plan, type PlanSettings } from './observed.ts';
import { planActive } from './plan-active.ts';
import { deletionsOf, storageCheckMs, storageMessage } from './plan-waiting.ts';
import { chunksShown } from './plan-status.ts';
import { activeStatus, finalStatus, isWorthWriting, notAdoptedStatus, refusedStatus } from './status.ts';

/*
 * The actions for a MediaJob, from its observed state: pure, so that every case is a row of a table.
 *
 *   no row ──adopt──▶ row waits for a slot ──claim (admission)──▶ row is claimed
 *   claimed, no Job of the attempt ──▶ create the Job ──▶ pod ──▶ conclude: completed, failed, or the next attempt
 *   row is final ──▶ one status write ──▶ after the TTL, delete the MediaJob
 *
 * Postgres is the truth: the row says which attempt is the current one and whether the job is final. The Job of an
 * attempt is created once, by the leader that claimed the attempt. An absent Job that may have existed counts as a
 * disruption, which costs nothing: with a second Job, two pods could write under one revision.
 *
 * The status of a brief job is written once, at its end, since a status write costs the API server as much as the rest
 * of the job. While many jobs run, progress is written less often; problems and ends are written at once.
 */

const nothing: Plan = { actions: [] };
/** The delay of a progress write that the rate did not allow. */
const progressRetryMs = 10_000;

/** The actions for a MediaJob now; pure. */
export function plan(observed: Observed, nowMs: number, settings: PlanSettings): Plan {
  const { mediaJob, row } = observed;
  if (mediaJob.metadata?.deletionTimestamp !== undefined) return nothing;
  if (hasEnded(mediaJob)) return planEnded(observed, nowMs, settings);
  if (row === null) {
    if (!isOfApiJob(mediaJob)) return planAdoption(observed, nowMs);
    const error = jobErrorOf('internal', 1, 'The database has no such job.');
    const status = refusedStatus(mediaJob, error, nowMs);
    return { actions: [{ do: 'writeStatus', status }], requeueAfterMs: settings.mediaJobTtlMs };
  }
  if (isFinal(row.status)) return planFinal(observed, row, nowMs, settings);
  if (isFollower(mediaJob, row)) return planFollower(observed, row, nowMs);
  return withoutExcessProgress(planActive(observed, row, nowMs, settings), observed);
}

/** A MediaJob from kubectl becomes a job, once the source can be measured. */
function planAdoption({ mediaJob, storageProblem }: Observed, nowMs: number): Plan {
  if (storageProblem === null) return { actions: [{ do: 'adopt' }], requeueAfterMs: 0 };
  const reason = 'StorageUnavailable';
  const message = `${storageMessage(storageProblem)}; the job is accepted once it does.`;
  const isShown = mediaJob.status?.conditions?.some((condition) => condition.reason === reason) === true;
  const status = notAdoptedStatus({ mediaJob, reason, message, nowMs });
  return { actions: isShown ? [] : [{ do: 'writeStatus', status }], requeueAfterMs: storageCheckMs };
}

/** The row is final, and the MediaJob does not show it yet. */
function planFinal(observed: Observed, row: Job, nowMs: number, { mediaJobTtlMs }: PlanSettings): Plan {
  const { mediaJob, current, pool, otherJobs } = observed;
  const begunAt = current.job?.metadata.creationTimestamp;
  const status = { ...finalStatus({ mediaJob, row, pool: pool.name, nowMs, begunAt }), ...chunksShown(observed) };
  const stops = deletionsOf(
    row.status === 'completed' ? [jobOfSidecar(observed)] : [jobThatMayRun(observed), ...otherJobs],
  );
  const keys: Action[] = needsContentKey(row) ? [{ do: 'deleteKeys' }] : [];
  return { actions: [...stops, ...keys, { do: 'writeStatus', status }], requeueAfterMs: mediaJobTtlMs };
}

/** The MediaJob shows its end. */
function planEnded(observed: Observed, nowMs: number, { mediaJobTtlMs }: PlanSettings): Plan {
  const { mediaJob, row, otherJobs } = observed;
  const isActive = row !== null && !isFinal(row.status);
  const isOfAnother = row !== null && isFollower(mediaJob, row);
  if (isActive && isOfAnother) return { actions: [], followsRow: true };
  const stopped = row?.status === 'completed' ? jobOfSidecar(observed) : jobThatMayRun(observed);
  const stops = isOfAnother ? [] : deletionsOf([stopped, ...otherJobs]);
  // Active: a person wrote the end, or a failover of Postgres lost it. The job continues in a new MediaJob.
  const ttlMs = isActive ? 0 : remainingTtlMs(mediaJob, mediaJobTtlMs, nowMs);
  return ttlMs <= 0 ? { actions: [...stops, { do: 'deleteMediaJob' }] } : { actions: stops, requeueAfterMs: ttlMs };
}

/** Whether an equal submission made the row of a MediaJob from kubectl. */
function isFollower(mediaJob: Observed['mediaJob'], row: Job): boolean {
  return row.id !== ownJobIdOf(mediaJob);
}

/** The MediaJob follows the other job. */
function planFollower(observed: Observed, row: Job, nowMs: number): Plan {
  const { mediaJob, pool, writes } = observed;
  const status = activeStatus({ mediaJob, row, pool: pool.name, problem: null, nowMs });
  const isWorth = isWorthWriting(mediaJob.status, status, writes.sinceMs);
  return { actions: isWorth ? [{ do: 'writeStatus', status }] : [], followsRow: true };
}

function withoutExcessProgress(planned: Plan, { writes }: Observed): Plan {
  const actions = planned.actions.filter((action) => !(action.do === 'writeStatus' && action.isProgress === true));
  if (writes.mayReportProgress || actions.length === planned.actions.length) return planned;
  return { ...planned, actions, requeueAfterMs: Math.min(planned.requeueAfterMs ?? Infinity, progressRetryMs) };
}

/** The Job of the attempt, unless its pod has ended. */
function jobThatMayRun(observed: Observed): JobSnapshot | null {
  const { job, pod } = observed.current;
  if (isParallel(observed)) return job;
  return pod !== null && isPodOver(pod) && !pod.hasRunningSidecar ? null : job;
}

/** The Job of the attempt if an added container keeps its pod running; any other completed Job ends within a second. */
function jobOfSidecar({ current: { job, pod } }: Observed): JobSnapshot | null {
  return pod?.hasRunningSidecar === true ? job : null;
}
