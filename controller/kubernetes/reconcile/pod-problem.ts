import type { JobErrorCode } from '#domain/errors.ts';
import type { MediaJobPhase } from '#domain/kubernetes/media-job.ts';
import type { PodSnapshot } from '../snapshots.ts';

/** What keeps an attempt from beginning. */
export interface PodProblem {
  readonly phase: MediaJobPhase;
  /** One UpperCamelCase word, as Kubernetes has it. */
  readonly reason: string;
  readonly message: string;
  /** What the job fails with when it lasts past the pending deadline. */
  readonly code: JobErrorCode;
}

const imageReasons = [
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'RegistryUnavailable',
];
const containerReasons = ['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError'];

/**
 * The trouble of an attempt whose Job is there; null: none that is known.
 *
 * @param denied why the Job controller could not make the pod, as its event says; null when there is no such event
 */
export function podProblemOf(pod: PodSnapshot | null, denied: string | null): PodProblem | null {
  if (pod === null) return denied === null ? null : denialOf(denied);
  const unscheduled = pod.conditions.find(({ type, status }) => type === 'PodScheduled' && status === 'False');
  if (unscheduled !== undefined) {
    const { reason = 'Unschedulable', message = '' } = unscheduled;
    return { phase: 'unschedulable', reason, message, code: 'resource_exhausted' };
  }
  for (const { name, waiting } of pod.containers) {
    if (waiting === undefined) continue;
    const { reason, message } = waiting;
    const isImage = imageReasons.includes(reason);
    if (!isImage && !containerReasons.includes(reason)) continue;
    return {
      phase: isImage ? 'image_unavailable' : 'scheduling',
      reason,
      message: `${name}: ${message}`,
      code: 'internal',
    };
  }
  return null;
}

function denialOf(message: string): PodProblem {
  const isQuota = /exceeded quota|must specify (?:limits|requests)/i.test(message);
  return isQuota
    ? { phase: 'quota_exceeded', reason: 'QuotaExceeded', message, code: 'resource_exhausted' }
    : { phase: 'scheduling', reason: 'FailedCreate', message, code: 'internal' };
}
