import type { JobErrorCode } from '#domain/errors.ts';
import type { AttemptEnd } from '#domain/jobs/attempts.ts';
import { type JobError, jobErrorOf } from '#domain/job-error.ts';
import { exitCodes } from '#domain/exit-codes.ts';
import { parseReport } from '#domain/runner/report.ts';
import { endOfJob, type ContainerSnapshot, type JobSnapshot, type PodSnapshot } from '../snapshots.ts';

/** A pod that is still there so long after it should have gone is on a node that nobody hears of. */
const afterDeletionMs = 5_000;

interface SeenAttempt {
  readonly attempt: number;
  readonly job: JobSnapshot;
  readonly pod: PodSnapshot | null;
}

/**
 * How an attempt ended; null while it goes on. Success is seen on the pod, about a second before the Job says so.
 *
 * A disruption is told by the pod's condition or by its deletion, never by an exit code: 137 is also what the kernel's
 * out-of-memory killer leaves.
 */
export function endOfAttempt({ attempt, job, pod }: SeenAttempt, nowMs: number): AttemptEnd | null {
  if (pod !== null) {
    const end = endOfPod(pod, attempt, nowMs);
    if (end !== null) return end;
  }
  const ended = endOfJob(job);
  if (ended === null) return null;
  if (ended.type === 'Complete') return { kind: 'done' };
  if (ended.reason === 'DeadlineExceeded') return failed('deadline_exceeded', exitCodes.transient, attempt);
  // A pod that failed by itself stays for as long as its Job; one that is not there was taken away.
  return pod === null ? { kind: 'disrupted' } : null;
}

function endOfPod(pod: PodSnapshot, attempt: number, nowMs: number): AttemptEnd | null {
  if (pod.phase === 'Succeeded' || pod.containers.at(-1)?.terminated?.exitCode === 0) return { kind: 'done' };
  const broken = pod.containers.find(({ terminated }) => terminated !== undefined && terminated.exitCode !== 0);
  const { deletionTimestamp } = pod.metadata;
  if (pod.phase !== 'Failed' && broken === undefined) {
    const isOverdue = deletionTimestamp !== undefined && nowMs > Date.parse(deletionTimestamp) + afterDeletionMs;
    return isOverdue ? { kind: 'disrupted' } : null;
  }
  if (pod.reason === 'Evicted' && isOverLimit(pod.message)) {
    return failed('resource_exhausted', exitCodes.outOfResource, attempt);
  }
  if (pod.reason === 'DeadlineExceeded') return failed('deadline_exceeded', exitCodes.transient, attempt);
  const isTarget = pod.conditions.some(({ type, status }) => type === 'DisruptionTarget' && status === 'True');
  // Without a container that failed, the node refused or lost the pod (NodeAffinity, OutOfcpu, NodeShutdown).
  if (isTarget || deletionTimestamp !== undefined || broken === undefined) return { kind: 'disrupted' };
  return endOfContainer(broken, attempt);
}

/** The kubelet's words for a pod that used more scratch than it may; under a node's own pressure it says otherwise. */
function isOverLimit(message: string): boolean {
  return /exceeds the (?:total )?limit|exceeds? its local ephemeral storage limit|exceeds the limit/i.test(message);
}

function endOfContainer({ name, terminated }: ContainerSnapshot, attempt: number): AttemptEnd {
  const { exitCode = 1, reason = '', message = '' } = terminated ?? {};
  if (reason === 'OOMKilled') return failed('resource_exhausted', exitCodes.outOfResource, attempt, name);
  // Stopped, and not by us: the node is shutting down, and tells its processes one by one.
  if (exitCode === exitCodes.stopped) return { kind: 'disrupted' };
  // What cannot even be started (no such program, a secret that is missing) fails alike everywhere.
  if (reason === 'StartError' || reason === 'ContainerCannotRun') {
    return failed('internal', exitCodes.permanent, attempt, name);
  }
  return { kind: 'failed', exitCode: exitCode > 128 ? null : exitCode, error: reportedError(message, attempt) };
}

/** What the runner said of its end in its termination message. */
function reportedError(message: string, attempt: number): JobError | null {
  const report = parseReport(message.trim());
  return report?.type === 'result' && report.error !== null ? { ...report.error, attempt } : null;
}

function failed(code: JobErrorCode, exitCode: number, attempt: number, stage?: string): AttemptEnd {
  const error = jobErrorOf(code, attempt);
  return { kind: 'failed', exitCode, error: stage === undefined ? error : { ...error, stage } };
}
