import type { WaitingReason } from '#domain/jobs/waiting.ts';
import type { MediaJobStatus } from '#domain/kubernetes/media-job.ts';
import { chunksProgress } from '../snapshots/units.ts';
import type { Attempt } from './attempt.ts';
import type { Action, Observed } from './observed.ts';
import { type PodProblem, type ShownProblem, waitingReasonOf } from './pod-problem.ts';
import { activeStatus, isWorthWriting } from './status.ts';

/** Whether the status of an attempt shows that it has begun. */
interface Shown {
  /** Default true. */
  readonly hasBegun: boolean;
}

/** A status write, and an Event if it shows a new problem. */
export function problemWrite(attempt: Attempt, problem: PodProblem | null, shown?: Shown): Action[] {
  const writes = statusWrite(attempt, problem, shown);
  const isShown = writes.some((action) => action.do === 'writeStatus');
  return problem === null || !isShown ? writes : [...writes, { do: 'recordProblem', problem }];
}

/** A status write if it is worth one, and the reason to wait for callers of the API. */
export function statusWrite(
  attempt: Attempt,
  problem: ShownProblem | null,
  { hasBegun }: Shown = { hasBegun: true },
): Action[] {
  const { mediaJob, row, current, pool, writes, nowMs } = attempt;
  const status = { ...activeStatus({ mediaJob, row, pool: pool.name, problem, nowMs }), ...chunksShown(attempt) };
  // A suspended job without a Job keeps showing the attempt that began last, if any.
  const showsRow = hasBegun && current.job !== null;
  const { attempt: _, ...rest } = status;
  const shownAttempt = mediaJob.status?.attempt;
  const wanted = showsRow ? status : { ...rest, ...(shownAttempt === undefined ? {} : { attempt: shownAttempt }) };
  const records = waitingRecord(attempt, problem);
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
function waitingRecord({ mediaJob, row, isClaimed }: Attempt, problem: ShownProblem | null): Action[] {
  const isInQueue = problem?.reason === 'Queued' && !isClaimed;
  const ofProblem = problem === null || isInQueue ? null : waitingReasonOf(problem);
  const reason = mediaJob.spec.suspend === true ? suspendedReason : ofProblem;
  return reason?.code === row.waitingReason?.code ? [] : [{ do: 'recordWaiting', reason }];
}

/** Whether the status shows the row's attempt. */
export function showsAttempt({ mediaJob, row }: Pick<Attempt, 'mediaJob' | 'row'>): boolean {
  return mediaJob.status?.attempt === row.attempt;
}
