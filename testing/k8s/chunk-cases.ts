import type { PendingChunks } from '#domain/work/split.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import type { Action, ObservedUnits } from '../../controller/kubernetes/plan/observed.ts';
import { plan } from '../../controller/kubernetes/plan/plan.ts';
import type { JobSnapshot } from '../../controller/kubernetes/snapshots/job.ts';
import { labels } from '../../controller/kubernetes/snapshots/names.ts';
import type { PodSnapshot } from '../../controller/kubernetes/snapshots/pod.ts';
import { exampleJob } from '../example-job.ts';
import { ago, type FlatObserved, now, observedOf, settings } from './plan-cases.ts';

// What the tests of the plan for chunks are made of: a job in four chunks, of which one is finished and two are encoded
// now.

export const row = exampleJob({
  type: 'video:transcode',
  options: { encrypt: false },
  phase: 'encoding',
  progress: 23,
  updatedAt: new Date(now - 60_000),
});
const { id } = row;
const begun = { type: 'Progressing', status: 'True', reason: 'AttemptBegun', message: '', lastTransitionTime: ago(60) };
export const mediaJob = {
  metadata: { name: `mj-${id}`, namespace: 'r', uid: 'u', generation: 1, labels: { [labels.jobId]: id } },
  spec: { type: 'video:transcode', hash: 'h', source: 's' },
  status: { attempt: 1, jobId: id, progress: 23, chunks: '1/4', conditions: [begun] },
} as MediaJob;
export const pendingChunks: PendingChunks = { v: 1, rev: 'r', chunk_frames: [100, 100, 100, 100], chunks: [1, 2, 3] };
export const job: JobSnapshot = {
  metadata: { name: `mj-${id}-1-c`, uid: 'e', creationTimestamp: ago(60) },
  isSuspended: false,
  conditions: [],
  hasPod: true,
  indexed: { parallelism: 2, completions: 3, completed: '', failed: '' },
};
export const ended = (type: string, reason = ''): JobSnapshot => ({
  ...job,
  conditions: [{ type, status: 'True', reason }],
});
export const podOf = (index: number, more: Partial<PodSnapshot> = {}): PodSnapshot => ({
  metadata: { creationTimestamp: ago(60), labels: { 'batch.kubernetes.io/job-completion-index': String(index) } },
  phase: 'Running',
  reason: '',
  message: '',
  conditions: [],
  containers: [{ name: 'process', isRunning: true }],
  hasRunningSidecar: false,
  ...more,
});
export const failed = (index: number, exitCode: number, { reason = 'Error', seconds = 1 } = {}) =>
  podOf(index, {
    phase: 'Failed',
    containers: [
      { name: 'process', isRunning: false, terminated: { exitCode, reason, message: '', finishedAt: ago(seconds) } },
    ],
  });
export const pending = (index: number) =>
  podOf(index, {
    phase: 'Pending',
    containers: [],
    conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes' }],
  });
export const lost = (index: number) =>
  podOf(index, { metadata: { ...podOf(index).metadata, deletionTimestamp: ago(30) } });
export const waiting = (index: number, seconds: number, reason = 'CreateContainerConfigError') =>
  podOf(index, {
    metadata: { ...podOf(index).metadata, creationTimestamp: ago(seconds + 5) },
    phase: 'Pending',
    containers: [
      {
        name: 'fetch',
        isRunning: false,
        terminated: { exitCode: 0, reason: 'Completed', message: '', finishedAt: ago(seconds) },
      },
      { name: 'process', isRunning: false, waiting: { reason: 'PodInitializing', message: '' } },
      { name: 'publish', isRunning: false, waiting: { reason, message: 'secret "media" not found' } },
    ],
  });
export const held = (index: number, exitCode: number, seconds: number) =>
  podOf(index, {
    containers: [
      {
        name: 'publish',
        isRunning: false,
        terminated: { exitCode, reason: 'Completed', message: '', finishedAt: ago(seconds) },
      },
    ],
    hasRunningSidecar: true,
  });
export const units: ObservedUnits = {
  kind: 'chunk',
  pending: pendingChunks,
  pods: [podOf(0), podOf(1)],
  parallelism: 2,
  turn: null,
  next: null,
  isUnread: false,
};
export const observed: FlatObserved = {
  mediaJob,
  row,
  units,
  job,
  isJobBeingCreated: false,
  isJobNeverCreated: false,
  runningMs: 60_000,
  otherJobs: [],
  pod: podOf(0),
  unreadyNode: null,
  hasCapacity: true,
  podCreationFailure: null,
  isOutdated: false,
  isStorageAway: false,
  pool: { name: 'default', spec: { concurrency: 4 } },
  sinceWrittenMs: Infinity,
  mayReportProgress: true,
};
type Case = Partial<FlatObserved> & {
  pods?: PodSnapshot[];
  parallelism?: number;
  turn?: string;
  next?: ObservedUnits['next'];
};
export const planned = ({ pods = [...units.pods], parallelism = 2, turn, next = null, ...more }: Case) =>
  plan(
    observedOf({
      ...observed,
      units: { ...units, pods, parallelism, turn: turn ?? null, next },
      pod: pods[0] ?? null,
      ...more,
    }),
    now,
    settings,
  );
export const done = (of: Case) => planned(of).actions.map((action) => action.do);
export const actionOf = <Kind extends Action['do']>(of: Case, kind: Kind) =>
  planned(of).actions.find((action): action is Extract<Action, { do: Kind }> => action.do === kind);
export const finish: ObservedUnits['next'] = { kind: 'finish', split: pendingChunks, chunks: [] };
