import type { Pod, PodStatus } from './node.ts';

// Statuses of pods, as kubelets and schedulers write them.

/** A pod that the scheduler finds no node for. */
export const unschedulable: PodStatus = {
  phase: 'Pending',
  conditions: [
    {
      type: 'PodScheduled',
      status: 'False',
      reason: 'Unschedulable',
      message: "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
      lastTransitionTime: new Date().toISOString(),
    },
  ],
};

/** A pod that runs its first container, or the one that is named. */
export function runningStatus(pod: Pod, name?: string): PodStatus {
  return containerStatus(pod, name, { running: { startedAt: new Date().toISOString() } }, 'Running');
}

/** A pod whose container, the first unless named, waits for a reason. */
export function waitingStatus(pod: Pod, reason: string, message: string): PodStatus {
  return containerStatus(pod, undefined, { waiting: { reason, message } }, 'Pending');
}

/** A pod whose first container ended so. */
export function failedStatus(
  pod: Pod,
  terminated: { exitCode: number; reason?: string; message?: string },
  more: Partial<PodStatus> = {},
): PodStatus {
  return { ...containerStatus(pod, undefined, { terminated }, 'Failed'), ...more };
}

/** The condition that marks a disruption: an eviction, a drain, a preemption. */
export function disruptionTarget(reason: string): Pick<PodStatus, 'conditions'> {
  const lastTransitionTime = new Date().toISOString();
  return { conditions: [{ type: 'DisruptionTarget', status: 'True', reason, lastTransitionTime }] };
}

type State = NonNullable<NonNullable<PodStatus['containerStatuses']>[number]['state']>;

function containerStatus(pod: Pod, name: string | undefined, state: State, phase: string): PodStatus {
  const { initContainers = [], containers } = pod.spec ?? { containers: [] };
  const chosen = name ?? (initContainers[0] ?? containers[0])?.name;
  const waitingContainer = ({ name: each }: { name: string }) => ({
    name: each,
    image: 'runner',
    imageID: '',
    ready: false,
    restartCount: 0,
    state: each === chosen ? state : { waiting: { reason: 'PodInitializing' } },
  });
  return {
    phase,
    ...(initContainers.length > 0 ? { initContainerStatuses: initContainers.map(waitingContainer) } : {}),
    containerStatuses: containers.map(waitingContainer),
  };
}
