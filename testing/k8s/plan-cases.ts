import { exampleJob } from '../example-job.ts';
import type { Job } from '#domain/jobs/job.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import type { Action, Observed, ObservedWork } from '../../controller/kubernetes/plan/observed.ts';
import { plan } from '../../controller/kubernetes/plan/plan.ts';
import type { JobSnapshot } from '../../controller/kubernetes/snapshots/job.ts';
import { labels } from '../../controller/kubernetes/snapshots/names.ts';
import type { PodSnapshot } from '../../controller/kubernetes/snapshots/pod.ts';

// What the tables of the tests of plans are made of: a claimed job without a Job, and what a case changes of it.

/** A case: what a MediaJob is observed to be, and the actions that follow. */
export type PlanCase = [title: string, changes: Partial<FlatObserved>, actions: Action['do'][]];

/** The changes by a row of a test's table, without the groups of `Observed`. */
export interface FlatObserved
  extends
    Pick<Observed, 'mediaJob' | 'row' | 'units' | 'otherJobs'>,
    Pick<ObservedWork, 'job' | 'isOutdated' | 'pod' | 'podCreationFailure' | 'unreadyNode' | 'runningMs'> {
  readonly isStorageAway: boolean;
  readonly isJobBeingCreated: boolean;
  readonly isJobNeverCreated: boolean;
  readonly pool: Pick<Observed['pool'], 'name' | 'spec'>;
  readonly hasCapacity: boolean;
  readonly sinceWrittenMs: number;
  readonly mayReportProgress: boolean;
}

/** The observed state that a test's table describes. */
export function observedOf(flat: FlatObserved): Observed {
  const { mediaJob, row, units, otherJobs, isStorageAway, pool, hasCapacity, sinceWrittenMs, mayReportProgress } = flat;
  const { job, isOutdated, pod, podCreationFailure, unreadyNode, runningMs } = flat;
  const { isJobBeingCreated: isBeingCreated, isJobNeverCreated: isNeverCreated } = flat;
  return {
    mediaJob,
    row,
    units,
    current: { job, isBeingCreated, isNeverCreated, isOutdated, pod, podCreationFailure, unreadyNode, runningMs },
    otherJobs,
    pool: { ...pool, hasCapacity },
    storageProblem: isStorageAway ? 'the media bucket does not answer (ECONNREFUSED)' : null,
    writes: { sinceMs: sinceWrittenMs, mayReportProgress },
  };
}

export const now = Date.parse('2026-11-21T12:00:00Z');
export const ago = (seconds: number) => new Date(now - seconds * 1000).toISOString();
export const settings = { pendingDeadlineMs: 3_600_000, mediaJobTtlMs: 3_600_000 };
export const row = exampleJob({ updatedAt: new Date(now - 2_000) });
export const old: Job = { ...row, updatedAt: new Date(now - 6_000) };
export const waitingRow: Job = { ...old, status: 'queued', phase: null };
export const lostNode = { metadata: { name: 'node-1' }, unreadyBecause: 'Kubelet stopped posting node status.' };
export const begun = { attempt: 1, jobId: row.id, conditions: [condition('Progressing', 'True', 'AttemptBegun')] };
export const mediaJob: MediaJob = {
  metadata: { name: `mj-${row.id}`, namespace: 'r', uid: 'u', generation: 1, labels: { [labels.jobId]: row.id } },
  spec: { type: 'video:cover', hash: 'h', source: 's' },
};
export const job: JobSnapshot = {
  metadata: { name: `mj-${row.id}-1`, creationTimestamp: ago(2) },
  isSuspended: false,
  conditions: [],
  hasPod: true,
};
export const pod: PodSnapshot = {
  metadata: { creationTimestamp: ago(2) },
  phase: 'Pending',
  reason: '',
  message: '',
  conditions: [],
  containers: [],
  hasRunningSidecar: false,
};
export const observed: FlatObserved = {
  mediaJob,
  row,
  units: null,
  job: null,
  isJobBeingCreated: false,
  isJobNeverCreated: true,
  runningMs: 5_000,
  otherJobs: [],
  pod: null,
  unreadyNode: null,
  hasCapacity: true,
  podCreationFailure: null,
  isOutdated: false,
  isStorageAway: false,
  pool: { name: 'default', spec: { concurrency: 1 } },
  sinceWrittenMs: Infinity,
  mayReportProgress: true,
};

export function condition(type: string, status: 'True' | 'False', reason: string) {
  return { type, status, reason, message: '', lastTransitionTime: ago(60) };
}
export const withStatus = (status: NonNullable<MediaJob['status']>, more: Partial<MediaJob> = {}): MediaJob => ({
  ...mediaJob,
  ...more,
  status,
});
export const suspended = { ...mediaJob, spec: { ...mediaJob.spec, suspend: true } };
export const running = (name: string): PodSnapshot => ({
  ...pod,
  phase: 'Running',
  containers: [{ name, isRunning: true }],
});
export const unschedulable = {
  ...pod,
  metadata: { creationTimestamp: ago(10) },
  conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes' }],
};
const fetched = (seconds: number) => ({
  name: 'fetch',
  isRunning: false,
  terminated: { exitCode: 0, reason: 'Completed', message: '', finishedAt: ago(seconds) },
});
const missingSecret = {
  name: 'process',
  isRunning: false,
  waiting: { reason: 'CreateContainerConfigError', message: 'secret "key" not found' },
};
export const stalled = (seconds: number): PodSnapshot => ({
  ...pod,
  metadata: { creationTimestamp: ago(40) },
  containers: [fetched(seconds), missingSecret],
});
export const queuedByKueue: JobSnapshot = {
  ...job,
  metadata: { ...job.metadata, creationTimestamp: ago(3_660) },
  isSuspended: true,
  hasPod: false,
};
export const published: PodSnapshot = {
  ...pod,
  phase: 'Running',
  containers: [{ ...fetched(1), name: 'publish' }],
  hasRunningSidecar: true,
};
export const complete = withStatus({
  phase: 'completed',
  completionTime: ago(60),
  conditions: [condition('Complete', 'True', 'Completed')],
});

export const planned = (more: Partial<FlatObserved>) => plan(observedOf({ ...observed, ...more }), now, settings);
/** The codes that are recorded for callers of the API. */
export const recordsOf = (more: Partial<FlatObserved>) =>
  planned(more).actions.flatMap((action) => (action.do === 'recordWaiting' ? [action.reason?.code] : []));
/** The planned actions without reports to callers of the API, which have tests of their own. */
export const shownBy = (more: Partial<FlatObserved>) =>
  planned(more).actions.filter((action) => action.do !== 'recordWaiting');
export const done = (more: Partial<FlatObserved>) => shownBy(more).map((action) => action.do);
