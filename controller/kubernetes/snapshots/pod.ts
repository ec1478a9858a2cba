import { steps } from '#domain/work/steps.ts';
import type { ObjectMeta, pods } from '#platform/kubernetes/objects.ts';
import type { JobSnapshot } from './job.ts';
import { type Condition, trimCondition, trimMeta } from './trim.ts';

/** The state of a container. */
export interface ContainerSnapshot {
  readonly name: string;
  readonly waiting?: { readonly reason: string; readonly message: string };
  readonly isRunning: boolean;
  readonly terminated?: {
    readonly exitCode: number;
    readonly reason: string;
    readonly message: string;
    readonly startedAt?: string;
    readonly finishedAt?: string;
  };
}

/**
 * A runner pod, with the containers of the steps in their order. Containers that an admission webhook added, as of a
 * service mesh, decide nothing about the attempt.
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
              ...(state.terminated.startedAt === undefined ? {} : { startedAt: state.terminated.startedAt }),
              ...(state.terminated.finishedAt === undefined ? {} : { finishedAt: state.terminated.finishedAt }),
            },
          }),
    })),
    hasRunningSidecar: (status?.containerStatuses ?? []).some(
      (each) => !isStep(each) && each.state?.running !== undefined,
    ),
  };
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

/** When a step of a pod last ended, in milliseconds since the epoch; null before. */
export function lastFinishedMs({ containers }: PodSnapshot): number | null {
  const times = containers.flatMap(({ terminated }) => Date.parse(terminated?.finishedAt ?? '') || []);
  return times.length === 0 ? null : Math.max(...times);
}

/** Whether a step of a pod runs. */
export function isWorking({ containers }: PodSnapshot): boolean {
  return containers.some(({ isRunning }) => isRunning);
}

/** Whether a step of a pod has started. */
export function hasStarted({ containers }: PodSnapshot): boolean {
  return containers.some(({ isRunning, terminated }) => isRunning || terminated !== undefined);
}

/** When the pod, or without one the Job, began to wait, in milliseconds since the epoch. */
export function pendingSince(pod: PodSnapshot | null, job: JobSnapshot, nowMs: number): number {
  const resumedMs = job.resumedAt === undefined ? 0 : Date.parse(job.resumedAt);
  return Math.max(createdMs(pod ?? job, nowMs), resumedMs);
}

/** When an object was created, in whole seconds as Kubernetes has it; now, while that is not known. */
export function createdMs({ metadata }: Pick<JobSnapshot, 'metadata'>, nowMs: number): number {
  return metadata.creationTimestamp === undefined ? nowMs : Date.parse(metadata.creationTimestamp);
}
