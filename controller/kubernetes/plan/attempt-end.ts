import type { JobErrorCode } from '#domain/errors.ts';
import { type AttemptEnd, mayBeStorageOutage } from '#domain/jobs/attempts.ts';
import { type JobError, jobErrorOf } from '#domain/job-error.ts';
import { exitCodes } from '#domain/exit-codes.ts';
import { parseReport } from '#domain/work/report.ts';
import { endOfJob, type JobSnapshot } from '../snapshots/job.ts';
import { type ContainerSnapshot, lastFinishedMs, lastStepOf, type PodSnapshot } from '../snapshots/pod.ts';

/** A pod that exists this long after its deletion time is on a node that does not respond. */
const afterDeletionMs = 5_000;

interface ObservedAttempt {
  readonly attempt: number;
  readonly job: JobSnapshot;
  readonly pod: PodSnapshot | null;
}

/**
 * How an attempt ended; null while it continues. Success is read from the pod, which shows it about a second before the
 * Job.
 *
 * A disruption is recognized by the pod's condition or by its deletion, never by an exit code: 137 is also the code of
 * a container that ran out of memory.
 */
export function endOfAttempt({ attempt, job, pod }: ObservedAttempt, nowMs: number): AttemptEnd | null {
  if (pod !== null) {
    const end = endOfPod(pod, attempt, nowMs);
    if (end !== null) return end;
  }
  const ended = endOfJob(job);
  if (ended === null) return null;
  if (ended.type === 'Complete') return { kind: 'done' };
  if (ended.reason === 'DeadlineExceeded') return failed('deadline_exceeded', exitCodes.transient, attempt);
  // A pod that failed stays as long as its Job; an absent pod was deleted.
  return pod === null ? { kind: 'disrupted' } : null;
}

/** How a pod ended; null while it continues. */
export function endOfPod(pod: PodSnapshot, attempt: number, nowMs: number): AttemptEnd | null {
  if (pod.phase === 'Succeeded' || lastStepOf(pod)?.terminated?.exitCode === 0) return { kind: 'done' };
  const broken = pod.containers.find(isBroken);
  const { deletionTimestamp } = pod.metadata;
  if (pod.phase !== 'Failed' && broken === undefined) {
    const isOverdue = deletionTimestamp !== undefined && nowMs > Date.parse(deletionTimestamp) + afterDeletionMs;
    return isOverdue ? { kind: 'disrupted' } : null;
  }
  if (pod.reason === 'Evicted' && exceedsLimit(pod.message)) {
    return failed('resource_exhausted', exitCodes.outOfResource, attempt);
  }
  if (pod.reason === 'DeadlineExceeded') return failed('deadline_exceeded', exitCodes.transient, attempt);
  const isTarget = pod.conditions.some(({ type, status }) => type === 'DisruptionTarget' && status === 'True');
  // Without a container that failed, the node refused or lost the pod (NodeAffinity, OutOfcpu, NodeShutdown).
  if (isTarget || deletionTimestamp !== undefined || broken === undefined) return { kind: 'disrupted' };
  return endOfContainer(broken, attempt);
}

/** A container that has ended. */
type EndedContainer = ContainerSnapshot & Required<Pick<ContainerSnapshot, 'terminated'>>;

function isBroken(container: ContainerSnapshot): container is EndedContainer {
  const { terminated } = container;
  return terminated !== undefined && terminated.exitCode !== 0;
}

/** An outage of the storage explains failures within this time. */
const outageExplainsMs = 60_000;

/** Whether a pod has just failed by the object storage. */
export function isStorageFailure(pod: PodSnapshot, attempt: number, nowMs: number): boolean {
  if (nowMs - (lastFinishedMs(pod) ?? 0) > outageExplainsMs) return false;
  const end = endOfPod(pod, attempt, nowMs);
  return end !== null && mayBeStorageOutage(end, attempt);
}

/** The kubelet's messages for a volume, a pod and a container over its limit; under node pressure they differ. */
function exceedsLimit(message: string): boolean {
  return /exceeds the (?:total )?limit|exceeded its local ephemeral storage limit/.test(message);
}

function endOfContainer({ name, terminated }: EndedContainer, attempt: number): AttemptEnd {
  const { exitCode, reason, message } = terminated;
  if (reason === 'OOMKilled') return failed('resource_exhausted', exitCodes.outOfResource, attempt, name);
  // Stopped, and not by us: the node is shutting down and stops its processes one by one.
  if (exitCode === exitCodes.stopped) return { kind: 'disrupted' };
  // A container that cannot be started (no such program) fails on every node.
  if (reason === 'StartError' || reason === 'ContainerCannotRun') {
    return failed('internal', exitCodes.permanent, attempt, name);
  }
  return { kind: 'failed', exitCode: exitCode > 128 ? null : exitCode, error: reportedError(message, attempt) };
}

/** The error in the runner's termination message. */
function reportedError(message: string, attempt: number): JobError | null {
  const report = parseReport(message.trim());
  return report?.type === 'result' && report.error !== null ? { ...report.error, attempt } : null;
}

function failed(code: JobErrorCode, exitCode: number, attempt: number, stage?: string): AttemptEnd {
  const error = jobErrorOf(code, attempt);
  return { kind: 'failed', exitCode, error: stage === undefined ? error : { ...error, stage } };
}
