import type { Job } from '#domain/jobs/job.ts';
import { poolOfQueue } from '#domain/jobs/routing.ts';
import { steps } from '#domain/runner/steps.ts';
import type { jobs, MediaJob, ObjectMeta, pods } from '#platform/kubernetes/objects.ts';
import { labels, mediaJobName } from './manifests/names.ts';
import type { ClaimedJob } from './slots/claimed-jobs.ts';

// The cached forms of objects: only the fields that are read, since there may be ten thousand of them.

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

/** A batch/v1 Job. */
export interface JobSnapshot {
  metadata: ObjectMeta;
  readonly isSuspended: boolean;
  /** When it was last resumed, as by Kueue; absent if it was never suspended. */
  readonly resumedAt?: string;
  readonly conditions: readonly Condition[];
  readonly hasPod: boolean;
  /** Of an Indexed Job, which encodes chunks. */
  readonly indexed?: {
    readonly parallelism: number;
    readonly completions: number;
    /** As Kubernetes writes them: `0-2,5`. */
    readonly completed: string;
    readonly failed: string;
  };
}

/** The state of a container. */
export interface ContainerSnapshot {
  readonly name: string;
  readonly waiting?: { readonly reason: string; readonly message: string };
  readonly isRunning: boolean;
  readonly terminated?: {
    readonly exitCode: number;
    readonly reason: string;
    readonly message: string;
    readonly finishedAt?: string;
  };
}

/**
 * A runner pod, with the containers of the steps in their order. A service mesh or another admission webhook may add
 * containers: they decide nothing about the attempt.
 */
export interface PodSnapshot {
  metadata: ObjectMeta;
  readonly nodeName?: string;
  readonly phase: string;
  readonly reason: string;
  readonly message: string;
  readonly conditions: readonly Condition[];
  readonly containers: readonly ContainerSnapshot[];
  /** Whether an added container runs that keeps the pod running after the last step has ended. */
  readonly hasRunningSidecar: boolean;
}

type Pod = NonNullable<(typeof pods)['example']>;
type BatchJob = NonNullable<(typeof jobs)['example']>;

/** A MediaJob without its results, which are long and which the controller does not read. */
export function trimMediaJob({ metadata, spec, status }: MediaJob): MediaJob {
  const { results: _results, ...rest } = status ?? {};
  return { metadata: trimMeta(metadata), spec, ...(status === undefined ? {} : { status: rest }) };
}

export function trimJob({ metadata, spec, status }: BatchJob): JobSnapshot {
  return {
    metadata: trimMeta(metadata),
    // The Job controller confirms a resumption by the condition, from whose time deadlines count.
    isSuspended: spec?.suspend === true || hasCondition(status?.conditions, 'Suspended', 'True'),
    ...resumption(status?.conditions),
    conditions: (status?.conditions ?? []).filter(({ status: state }) => state === 'True').map(trimCondition),
    hasPod: (status?.active ?? 0) + (status?.succeeded ?? 0) + (status?.failed ?? 0) > 0,
    ...(spec?.completionMode === 'Indexed'
      ? {
          indexed: {
            parallelism: spec.parallelism ?? 1,
            completions: spec.completions ?? 1,
            completed: status?.completedIndexes ?? '',
            failed: status?.failedIndexes ?? '',
          },
        }
      : {}),
  };
}

function hasCondition(conditions: readonly Condition[] = [], type: string, state: string): boolean {
  return conditions.some((condition) => condition.type === type && condition.status === state);
}

/** The time of the condition `Suspended` with status False. */
function resumption(conditions: readonly (Condition & { lastTransitionTime?: string })[] = []): { resumedAt?: string } {
  const resumed = conditions.find(({ type, status }) => type === 'Suspended' && status === 'False');
  return resumed?.lastTransitionTime === undefined ? {} : { resumedAt: resumed.lastTransitionTime };
}

const stepOrder: readonly string[] = [...steps, 'all'];
const readConditions = new Set(['PodScheduled', 'DisruptionTarget']);

/** Whether a container runs a step of ours; an admission webhook may have added it. */
function isStep({ name }: { readonly name: string }): boolean {
  return stepOrder.includes(name);
}

export function trimPod({ metadata, spec, status }: Pod): PodSnapshot {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]
    .filter(isStep)
    .toSorted((a, b) => stepOrder.indexOf(a.name) - stepOrder.indexOf(b.name));
  return {
    metadata: trimMeta(metadata),
    ...(spec?.nodeName === undefined ? {} : { nodeName: spec.nodeName }),
    phase: status?.phase ?? 'Pending',
    reason: status?.reason ?? '',
    message: status?.message ?? '',
    // Of PodScheduled only False is read.
    conditions: (status?.conditions ?? [])
      .filter(
        ({ type, status: state }) => state === (type === 'PodScheduled' ? 'False' : 'True') && readConditions.has(type),
      )
      .map(trimCondition),
    containers: statuses.map(({ name, state }) => ({
      name,
      isRunning: state?.running !== undefined,
      ...(state?.waiting === undefined
        ? {}
        : { waiting: { reason: state.waiting.reason ?? '', message: state.waiting.message ?? '' } }),
      ...(state?.terminated === undefined
        ? {}
        : {
            terminated: {
              exitCode: state.terminated.exitCode,
              reason: state.terminated.reason ?? '',
              message: state.terminated.message ?? '',
              ...(state.terminated.finishedAt === undefined ? {} : { finishedAt: state.terminated.finishedAt }),
            },
          }),
    })),
    hasRunningSidecar: (status?.containerStatuses ?? []).some(
      (each) => !isStep(each) && each.state?.running !== undefined,
    ),
  };
}

function trimCondition({ type, status, reason, message }: Condition): Condition {
  return { type, status, reason, message };
}

function trimMeta(metadata: ObjectMeta = {}): ObjectMeta {
  const { name, namespace, uid, resourceVersion, generation, creationTimestamp, deletionTimestamp } = metadata;
  const kept = { name, namespace, uid, resourceVersion, generation, creationTimestamp, deletionTimestamp };
  return {
    ...(Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined)) as ObjectMeta),
    ...(metadata.labels === undefined ? {} : { labels: metadata.labels }),
    ...(metadata.annotations === undefined ? {} : { annotations: ownAnnotations(metadata.annotations) }),
  };
}

function ownAnnotations(annotations: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(annotations).filter(([name]) => name.startsWith('reelwright.dev/')));
}

/** Whether the executor created this MediaJob for a job of the API; else it is a submission by kubectl. */
export function isOfApiJob({ metadata }: Pick<MediaJob, 'metadata'>): boolean {
  const jobId = metadata?.labels?.[labels.jobId];
  return jobId !== undefined && metadata?.name === mediaJobName(jobId);
}

/** The id of a MediaJob's job: for a submission by kubectl its UID, unless an equal live job was there before. */
export function jobIdOf(mediaJob: Pick<MediaJob, 'metadata' | 'status'>): string {
  if (isOfApiJob(mediaJob)) return mediaJob.metadata?.labels?.[labels.jobId] ?? '';
  return mediaJob.status?.jobId ?? mediaJob.metadata?.uid ?? '';
}

/** Whether a MediaJob has ended. */
export function hasEnded({ status }: Pick<MediaJob, 'status'>): boolean {
  return (status?.conditions ?? []).some(
    ({ type, status: state }) => (type === 'Complete' || type === 'Failed') && state === 'True',
  );
}

/** The container of the last step. */
export function lastStepOf({ containers }: PodSnapshot): ContainerSnapshot | undefined {
  return containers.find(({ name }) => name === 'publish' || name === 'all');
}

/** Whether no step of a pod runs or will run; the pod's phase follows a moment later, or once its sidecars end. */
export function isPodOver(pod: PodSnapshot): boolean {
  const { phase, containers } = pod;
  if (phase === 'Succeeded' || phase === 'Failed' || lastStepOf(pod)?.terminated !== undefined) return true;
  return containers.some(({ terminated }) => terminated !== undefined && terminated.exitCode !== 0);
}

/** Whether a step of a pod has started. */
export function hasStarted({ containers }: PodSnapshot): boolean {
  return containers.some(({ isRunning, terminated }) => isRunning || terminated !== undefined);
}

/** The condition with which the Job controller ended a Job; null while it has not ended. */
export function endOfJob({ conditions }: JobSnapshot): Condition | null {
  return conditions.find(({ type }) => type === 'Complete' || type === 'Failed') ?? null;
}

/** How many pods a Job may have at once: those of an Indexed Job become fewer towards its end. */
export function podsMaxOf({ indexed }: JobSnapshot): number {
  if (indexed === undefined) return 1;
  const ended = indexesOf(indexed.completed).length + indexesOf(indexed.failed).length;
  return Math.min(indexed.parallelism, indexed.completions - ended);
}

/** Reads a list of indexes such as `0-2,5`. */
export function indexesOf(list: string): number[] {
  return list
    .split(',')
    .filter((range) => range !== '')
    .flatMap((range) => {
      const [first = 0, last = first] = range.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, offset) => first + offset);
    });
}

/**
 * The remaining TTL of a finished MediaJob, in milliseconds; 0 for any other. It is read from the cache alone, so that
 * later events of the Job and the pod of a finished job cost nothing.
 */
export function remainingTtlMs({ status }: MediaJob, ttlMs: number, nowMs: number): number {
  const isComplete = status?.conditions?.some(({ type, status: is }) => type === 'Complete' && is === 'True') === true;
  return isComplete ? Math.max(0, (Date.parse(status?.completionTime ?? '') || 0) + ttlMs - nowMs) : 0;
}

/** What a row says of where and before which others its job runs. */
type Routing = Pick<Job, 'queue' | 'pool' | 'priority'>;

/** The pool that a job runs in: the one that was chosen for it, else that of its queue. */
export function poolOf(mediaJob: MediaJob | undefined, { pool, queue }: Routing): string {
  return mediaJob?.spec.pool ?? pool ?? poolOfQueue[queue];
}

/** How a claimed job takes part in its pool. */
export function claimOf(mediaJob: MediaJob | undefined, row: Routing): ClaimedJob {
  const { suspend, priority = row.priority } = mediaJob?.spec ?? {};
  return { pool: poolOf(mediaJob, row), isSuspended: suspend === true, priority };
}
