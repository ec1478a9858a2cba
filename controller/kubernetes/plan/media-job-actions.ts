import { jobErrorOf } from '#domain/job-error.ts';
import { isFinal } from '#domain/jobs/status.ts';
import { needsContentKey } from '#domain/work/access.ts';
import type { JobSnapshot } from '../snapshots/job.ts';
import { isFollower, remainingTtlMs } from '../snapshots/media-job.ts';
import { isPodOver } from '../snapshots/pod.ts';
import { type Action, deletionsOf, isParallel, type Plan, type View } from './observed.ts';
import { storageCheckMs, storageMessage } from './pod-problem.ts';
import type { MediaJobSituation } from './rules.ts';
import { chunksShown } from './shown.ts';
import { activeStatus, finalStatus, isWorthWriting, notAdoptedStatus, refusedStatus } from './status.ts';

/** The plan for each situation of a MediaJob whose own job is not active. */
export const mediaJobActions: { readonly [Situation in MediaJobSituation]: (view: View) => Plan } = {
  being_deleted: () => ({ actions: [] }),
  ended_before_job: () => ({ actions: [], followsRow: true }),
  ended: untilTtl,
  unknown: refuse,
  unmeasurable: waitForMeasure,
  new: () => ({ actions: [{ do: 'adopt' }], requeueAfterMs: 0 }),
  final: showEnd,
  follower: showOtherJob,
};

function refuse({ mediaJob, nowMs, settings }: View): Plan {
  const error = jobErrorOf('internal', 1, 'The database has no such job.');
  const status = refusedStatus(mediaJob, error, nowMs);
  return { actions: [{ do: 'writeStatus', status }], requeueAfterMs: settings.mediaJobTtlMs };
}

/** A MediaJob from kubectl becomes a job once the source can be measured. */
function waitForMeasure({ mediaJob, storageProblem, nowMs }: View): Plan {
  const reason = 'StorageUnavailable';
  const message = `${storageMessage(storageProblem)}; the job is accepted once it does.`;
  const isShown = mediaJob.status?.conditions?.some((condition) => condition.reason === reason) === true;
  const status = notAdoptedStatus({ mediaJob, reason, message, nowMs });
  return { actions: isShown ? [] : [{ do: 'writeStatus', status }], requeueAfterMs: storageCheckMs };
}

/** The row is final, and the MediaJob does not show it yet. */
function showEnd(view: View): Plan {
  const { mediaJob, row, current, pool, otherJobs, nowMs, settings } = view;
  if (row === null) throw new TypeError('a final job has a row');
  const begunAt = current.job?.metadata.creationTimestamp;
  const status = { ...finalStatus({ mediaJob, row, pool: pool.name, nowMs, begunAt }), ...chunksShown(view) };
  const stops = deletionsOf(row.status === 'completed' ? [jobOfSidecar(view)] : [jobThatMayRun(view), ...otherJobs]);
  const keys: Action[] = needsContentKey(row) ? [{ do: 'deleteKeys' }] : [];
  return { actions: [...stops, ...keys, { do: 'writeStatus', status }], requeueAfterMs: settings.mediaJobTtlMs };
}

/** The MediaJob shows its end. */
function untilTtl(view: View): Plan {
  const { mediaJob, row, otherJobs, nowMs, settings } = view;
  const stopped = row?.status === 'completed' ? jobOfSidecar(view) : jobThatMayRun(view);
  const stops = isFollower(mediaJob, row) ? [] : deletionsOf([stopped, ...otherJobs]);
  // Active: a person wrote the end, or a failover of Postgres lost it. The job continues in a new MediaJob.
  const isActive = row !== null && !isFinal(row.status);
  const ttlMs = isActive ? 0 : remainingTtlMs(mediaJob, settings.mediaJobTtlMs, nowMs);
  return ttlMs <= 0 ? { actions: [...stops, { do: 'deleteMediaJob' }] } : { actions: stops, requeueAfterMs: ttlMs };
}

/** The MediaJob follows the job of an equal submission. */
function showOtherJob({ mediaJob, row, pool, writes, nowMs }: View): Plan {
  if (row === null) throw new TypeError('a MediaJob follows a row');
  const status = activeStatus({ mediaJob, row, pool: pool.name, problem: null, nowMs });
  const isWorth = isWorthWriting(mediaJob.status, status, writes.sinceMs);
  return { actions: isWorth ? [{ do: 'writeStatus', status }] : [], followsRow: true };
}

/** The Job of the attempt, unless its pod has ended. */
function jobThatMayRun(view: View): JobSnapshot | null {
  const { job, pod } = view.current;
  if (isParallel(view)) return job;
  return pod !== null && isPodOver(pod) && !pod.hasRunningSidecar ? null : job;
}

/** The Job of the attempt if an added container keeps its pod running; any other completed Job ends within a second. */
function jobOfSidecar({ current: { job, pod } }: View): JobSnapshot | null {
  return pod?.hasRunningSidecar === true ? job : null;
}
