import type { Job } from '#domain/jobs/job.ts';
import type { WaitingReason } from '#domain/jobs/waiting.ts';
import type { MediaJobStatus } from '#domain/kubernetes/media-job.ts';
import { chunksProgress } from '../snapshots/units.ts';
import type { Action, Observed } from './observed.ts';
import { type PodProblem, type ShownProblem, waitingReasonOf } from './pod-problem.ts';
import { activeStatus, isWorthWriting } from './status.ts';

interface StatusToWrite {
  readonly problem: ShownProblem | null;
  readonly nowMs: number;
  /** Whether the row's attempt has begun; default true. */
  readonly hasBegun?: boolean;
}

/** A status write, and an Event if it shows a new problem. */
export function problemWrite(
  observed: Observed,
  row: Job,
  shown: StatusToWrite & { readonly problem: PodProblem | null },
): Action[] {
  const writes = statusWrite(observed, row, shown);
  const { problem } = shown;
  const isShown = writes.some((action) => action.do === 'writeStatus');
  return problem === null || !isShown ? writes : [...writes, { do: 'recordProblem', problem }];
}

export function statusWrite(
  observed: Observed,
  row: Job,
  { problem, nowMs, hasBegun = true }: StatusToWrite,
): Action[] {
  const { mediaJob, current, pool, writes } = observed;
  const chunks = chunksShown(observed);
  const status = { ...activeStatus({ mediaJob, row, pool: pool.name, problem, nowMs }), ...chunks };
  // A suspended job without a Job keeps showing the attempt that began last, if any.
  const showsRow = hasBegun && current.job !== null;
  const { attempt: _, ...rest } = status;
  const shownAttempt = mediaJob.status?.attempt;
  const wanted = showsRow ? status : { ...rest, ...(shownAttempt === undefined ? {} : { attempt: shownAttempt }) };
  const records = waitingRecord(observed, row, problem);
  if (!isWorthWriting(mediaJob.status, wanted, writes.sinceMs)) return records;
  const isProgress = problem === null && mediaJob.spec.suspend !== true;
  return [{ do: 'writeStatus', status: wanted, ...(isProgress ? { isProgress } : {}) }, ...records];
}

/** How many chunks are finished, once that is known. */
export function chunksShown({ units, current }: Observed): Pick<MediaJobStatus, 'chunks'> {
  if (units?.pending == null) return {};
  const { done, wanted } = chunksProgress(units.pending, current.job?.indexed?.completed);
  return { chunks: `${done}/${wanted}` };
}

const suspendedReason: WaitingReason = { code: 'suspended', message: 'spec.suspend of its MediaJob is set.' };

/** Reports to callers of the API why the job waits. For an unclaimed job in its queue they read that from the queue. */
function waitingRecord({ mediaJob }: Observed, row: Job, problem: ShownProblem | null): Action[] {
  const isInQueue = problem?.reason === 'Queued' && !isClaimed(row);
  const ofProblem = problem === null || isInQueue ? null : waitingReasonOf(problem);
  const reason = mediaJob.spec.suspend === true ? suspendedReason : ofProblem;
  return reason?.code === row.waitingReason?.code ? [] : [{ do: 'recordWaiting', reason }];
}

/** Whether the status shows the row's attempt. */
export function showsAttempt({ mediaJob }: Observed, row: Job): boolean {
  return mediaJob.status?.attempt === row.attempt;
}

/** Whether an executor has claimed the row: one that waits for its next attempt is `admitted` again. */
export function isClaimed({ status, phase }: Pick<Job, 'status' | 'phase'>): boolean {
  return status === 'processing' && phase !== 'admitted';
}
