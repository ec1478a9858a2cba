import type { JobErrorCode } from '#domain/errors.ts';
import type { WaitingReason } from '#domain/jobs/waiting.ts';
import type { MediaJobPhase } from '#domain/kubernetes/media-job.ts';
import type { NodeSnapshot } from '../snapshots/node.ts';
import { isPodOver, type PodSnapshot } from '../snapshots/pod.ts';

/** A pod of a busy cluster may wait this long for its node: a shorter wait is not shown. */
export const problemAfterMs = 5_000;

/** Why an attempt waits, as a status shows it. */
export interface ShownProblem {
  readonly phase: MediaJobPhase;
  /** One UpperCamelCase word, as Kubernetes has it. */
  readonly reason: string;
  readonly message: string;
}

/** A problem that keeps an attempt from starting. */
export interface PodProblem extends ShownProblem {
  /** The error of the job if the problem lasts past the pending deadline. */
  readonly code: JobErrorCode;
}

const codeOfReason: Readonly<Record<string, WaitingReason['code']>> = {
  Queued: 'pool_full',
  StorageUnavailable: 'storage_outage',
  JobSuspended: 'suspended',
  NodeNotReady: 'node_lost',
};
const codeOfPhase: Partial<Record<MediaJobPhase, WaitingReason['code']>> = {
  unschedulable: 'unschedulable',
  quota_exceeded: 'quota_exceeded',
  image_unavailable: 'image_unavailable',
};
const messageLengthMax = 1_000;

/** A problem as callers of the API see it. */
export function waitingReasonOf({ phase, reason, message }: ShownProblem): WaitingReason {
  const code = codeOfReason[reason] ?? codeOfPhase[phase] ?? 'cannot_start';
  return { code, message: (code === 'cannot_start' ? `${reason}: ${message}` : message).slice(0, messageLengthMax) };
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
 * The problem of an attempt whose Job exists; null if there is none. A pod that has ended has none: then the one that
 * should follow it may have.
 *
 * @param creationFailure why the Job controller could not create the pod, as its event says; null without such an event
 */
export function podProblemOf(pod: PodSnapshot | null, creationFailure: string | null): PodProblem | null {
  if (pod === null || isPodOver(pod)) return creationFailure === null ? null : creationProblemOf(creationFailure);
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

/** The problem of a pod on a node that does not answer: it may be running or not. `phase` is what was known last. */
export function nodeProblemOf(node: NodeSnapshot, phase: MediaJobPhase): PodProblem {
  const message =
    `Its node ${node.metadata.name ?? ''} is not ready: ${node.unreadyBecause ?? ''} ` +
    'The job continues here if the node returns, and on another node once Kubernetes evicts the pod, ' +
    'after five minutes unless its tolerations say otherwise.';
  return { phase, reason: 'NodeNotReady', message, code: 'resource_exhausted' };
}

function creationProblemOf(message: string): PodProblem {
  const isQuota = /exceeded quota|must specify (?:limits|requests)/i.test(message);
  return isQuota
    ? { phase: 'quota_exceeded', reason: 'QuotaExceeded', message, code: 'resource_exhausted' }
    : { phase: 'scheduling', reason: 'FailedCreate', message, code: 'internal' };
}

/** How often a job is checked that waits for the object storage. */
export const storageCheckMs = 5_000;

/** A problem of the object storage as a status shows it. */
export function storageMessage(problem: string | null): string {
  return `The object storage does not answer${problem === null ? '' : `: ${problem}`}`;
}
