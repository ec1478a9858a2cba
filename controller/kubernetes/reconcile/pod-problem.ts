import type { JobErrorCode } from '#domain/errors.ts';
import type { MediaJobPhase } from '#domain/kubernetes/media-job.ts';
import type { PodSnapshot } from '../snapshots.ts';

/** What keeps an attempt from starting. */
export interface PodProblem {
  readonly phase: MediaJobPhase;
  /** One UpperCamelCase word, as Kubernetes has it. */
  readonly reason: string;
  readonly message: string;
  /** The error of the job if the problem lasts past the pending deadline. */
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
 * The problem of an attempt whose Job exists; null if there is none.
 *
 * @param creationFailure why the Job controller could not create the pod, as its event says; null without such an event
 */
export function podProblemOf(pod: PodSnapshot | null, creationFailure: string | null): PodProblem | null {
  if (pod === null) return creationFailure === null ? null : creationProblemOf(creationFailure);
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

function creationProblemOf(message: string): PodProblem {
  const isQuota = /exceeded quota|must specify (?:limits|requests)/i.test(message);
  return isQuota
    ? { phase: 'quota_exceeded', reason: 'QuotaExceeded', message, code: 'resource_exhausted' }
    : { phase: 'scheduling', reason: 'FailedCreate', message, code: 'internal' };
}
