import type { jobs, MediaJob, ObjectMeta, pods } from '#platform/kubernetes/objects.ts';
import { labels, mediaJobName } from './manifests/names.ts';

// What the caches keep: of ten thousand objects, the fields that are read and nothing else.

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
  readonly conditions: readonly Condition[];
  readonly hasPod: boolean;
}

/** How a container stands. */
export interface ContainerSnapshot {
  readonly name: string;
  readonly waiting?: { readonly reason: string; readonly message: string };
  readonly isRunning: boolean;
  readonly terminated?: { readonly exitCode: number; readonly reason: string; readonly message: string };
}

/** A runner pod; its containers in the order in which they run. */
export interface PodSnapshot {
  metadata: ObjectMeta;
  readonly phase: string;
  readonly reason: string;
  readonly message: string;
  readonly conditions: readonly Condition[];
  readonly containers: readonly ContainerSnapshot[];
}

type Pod = NonNullable<(typeof pods)['example']>;
type BatchJob = NonNullable<(typeof jobs)['example']>;

/** A MediaJob without what is long and read by people alone. */
export function trimMediaJob({ metadata, spec, status }: MediaJob): MediaJob {
  const { results: _results, ...rest } = status ?? {};
  return { metadata: trimMeta(metadata), spec, ...(status === undefined ? {} : { status: rest }) };
}

export function trimJob({ metadata, spec, status }: BatchJob): JobSnapshot {
  return {
    metadata: trimMeta(metadata),
    isSuspended: spec?.suspend === true,
    conditions: (status?.conditions ?? []).filter(({ status: state }) => state === 'True').map(trimCondition),
    hasPod: (status?.active ?? 0) + (status?.succeeded ?? 0) + (status?.failed ?? 0) > 0,
  };
}

const isRead = new Set(['PodScheduled', 'DisruptionTarget']);

export function trimPod({ metadata, status }: Pod): PodSnapshot {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return {
    metadata: trimMeta(metadata),
    phase: status?.phase ?? 'Pending',
    reason: status?.reason ?? '',
    message: status?.message ?? '',
    // That a pod has its node is no news: what it does there is.
    conditions: (status?.conditions ?? [])
      .filter(({ type, status: state }) => state === (type === 'PodScheduled' ? 'False' : 'True') && isRead.has(type))
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
            },
          }),
    })),
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

/** Whether the executor made this MediaJob for a row that was there; else it is a submission by kubectl. */
export function isOfRow({ metadata }: Pick<MediaJob, 'metadata'>): boolean {
  const jobId = metadata?.labels?.[labels.jobId];
  return jobId !== undefined && metadata?.name === mediaJobName(jobId);
}

/** The id of a MediaJob's job: for a submission by kubectl its UID, unless an equal job was there before. */
export function jobIdOf(mediaJob: Pick<MediaJob, 'metadata' | 'status'>): string {
  if (isOfRow(mediaJob)) return mediaJob.metadata?.labels?.[labels.jobId] ?? '';
  return mediaJob.status?.jobId ?? mediaJob.metadata?.uid ?? '';
}

/** Whether a MediaJob has ended. */
export function hasEnded({ status }: Pick<MediaJob, 'status'>): boolean {
  return (status?.conditions ?? []).some(
    ({ type, status: state }) => (type === 'Complete' || type === 'Failed') && state === 'True',
  );
}

/** Whether nothing of a pod runs any more, or its next container never will; its phase follows a moment later. */
export function isPodOver({ phase, containers }: PodSnapshot): boolean {
  if (phase === 'Succeeded' || phase === 'Failed' || containers.at(-1)?.terminated !== undefined) return true;
  return containers.some(({ terminated }) => terminated !== undefined && terminated.exitCode !== 0);
}

/** Whether a step of a pod has begun. */
export function hasBegun({ containers }: PodSnapshot): boolean {
  return containers.some(({ isRunning, terminated }) => isRunning || terminated !== undefined);
}

/** How the Job controller says that a Job ended; null while it has not. */
export function endOfJob({ conditions }: JobSnapshot): Condition | null {
  return conditions.find(({ type }) => type === 'Complete' || type === 'Failed') ?? null;
}

/**
 * How long a MediaJob stays of which nothing but its going is left to be done, in milliseconds; 0 for any other. Asks
 * nobody, so that what still happens to the Job and the pod of a job that is over costs nothing.
 */
export function restOfEnded({ status }: MediaJob, jobCount: number, ttlLessNowMs: number): number {
  const isComplete = status?.conditions?.some(({ type, status: is }) => type === 'Complete' && is === 'True') === true;
  // Another Job may have to be stopped.
  if (!isComplete || jobCount > 1) return 0;
  return Math.max(0, (Date.parse(status?.completionTime ?? '') || 0) + ttlLessNowMs);
}
