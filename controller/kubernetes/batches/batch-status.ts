import type { MediaJobStatus } from '#domain/kubernetes/media-job.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import type { PodProblem } from '../reconcile/pod-problem.ts';
import { timeOf } from '../reconcile/status.ts';
import { type Batch, batchPool } from './batch.ts';

/** The newest jobs that a status names; the definition allows as many. */
const jobsShownMax = 100;

/** Why a batch failed: one UpperCamelCase word, and a sentence. */
export interface BatchFailure {
  readonly reason: string;
  readonly message: string;
}

interface StatusInput {
  readonly mediaJob: MediaJob;
  readonly batch: Batch;
  readonly nowMs: number;
}

/** The status of a batch that has not ended. */
export function activeBatchStatus(input: StatusInput, problem: PodProblem | null): MediaJobStatus {
  const { batch, mediaJob, nowMs } = input;
  const hasBegun = batch.askedMs !== null || batch.ended > 0;
  const startTime = mediaJob.status?.startTime ?? (hasBegun ? timeOf(nowMs) : undefined);
  return {
    ...shared(input),
    phase: problem?.phase ?? (hasBegun ? 'encoding' : 'scheduling'),
    ...(startTime === undefined ? {} : { startTime }),
    conditions: [
      problem === null
        ? condition(input, ['Progressing', 'True', 'BatchRuns', 'Its runner does one image job after another.'])
        : condition(input, ['Progressing', 'False', problem.reason, problem.message]),
    ],
  };
}

/** The status of a batch whose pod is over; `failure`: why it failed, null when it did not. */
export function endedBatchStatus(input: StatusInput, failure: BatchFailure | null): MediaJobStatus {
  const { batch, mediaJob, nowMs } = input;
  const { reason, message } = failure ?? {
    reason: 'BatchEnded',
    message: `${batch.ended} image jobs have ended in it.`,
  };
  return {
    ...shared(input),
    phase: failure === null ? 'completed' : 'failed',
    startTime: mediaJob.status?.startTime ?? timeOf(batch.createdMs),
    completionTime: timeOf(nowMs),
    conditions: [
      condition(input, [failure === null ? 'Complete' : 'Failed', 'True', reason, message]),
      condition(input, ['Progressing', 'False', reason, message]),
    ],
  };
}

function shared({ mediaJob, batch }: StatusInput): MediaJobStatus {
  const { ended, failed, jobs } = batch;
  return {
    observedGeneration: mediaJob.metadata?.generation ?? 0,
    pool: batchPool,
    batch: { ended, failed, jobs: jobs.slice(-jobsShownMax) },
  };
}

type ConditionInput = readonly [type: string, status: 'True' | 'False', reason: string, message: string];

function condition({ mediaJob, nowMs }: StatusInput, [type, status, reason, message]: ConditionInput) {
  const same = mediaJob.status?.conditions?.find((one) => one.type === type && one.reason === reason);
  return {
    type,
    status,
    observedGeneration: mediaJob.metadata?.generation ?? 0,
    lastTransitionTime: same?.lastTransitionTime ?? timeOf(nowMs),
    reason,
    message: message.slice(0, 2_000),
  };
}
