import type { AttemptEnd } from '#domain/jobs/attempts.ts';
import type { Job } from '#domain/jobs/job.ts';
import type { JobPhase } from '#domain/jobs/status.ts';
import { unitKindRow } from '#domain/work/unit.ts';
import type { JobSnapshot } from '../snapshots/job.ts';
import { lastFinishedMs, pendingSince } from '../snapshots/pod.ts';
import { endOfAttempt } from './attempt-end.ts';
import { type Chunks, chunksOf } from './chunks.ts';
import type { View } from './observed.ts';

/** The attempt of an active job: what is observed of it, and what follows from that. */
export interface Attempt extends View {
  readonly row: Job;
  /** An executor has claimed the row. */
  readonly isClaimed: boolean;
  /** Its Job was created and does not exist any more. */
  readonly isLost: boolean;
  /** It begins, or its next units do: their Job is to be created. */
  readonly isJobDue: boolean;
  /** No attempt may start now, since the object storage does not answer. */
  readonly isStorageAway: boolean;
  /** How it ended; null while it continues. */
  readonly end: AttemptEnd | null;
  /** The phase of the step that runs; null while no step does. A runner's own reports are finer. */
  readonly phase: JobPhase | null;
  /** How long its Job exists or its last step has ended, in milliseconds, while no step runs; null while one does. */
  readonly pendingMs: number | null;
  /** The chunks that its Job encodes; null for a Job of one unit. */
  readonly chunks: Chunks | null;
}

/** Derives an attempt from what is observed of its MediaJob. @throws TypeError without a row */
export function attemptOf(view: View): Attempt {
  const { row, units, storageProblem } = view;
  const { job } = view.current;
  if (row === null) throw new TypeError('an attempt has a row');
  const chunks = chunksOf(view, row);
  const isAtWork = isClaimed(row) && job !== null;
  const ended = job === null ? null : chunks === null ? endOfSinglePod(view, row, job) : chunks.end;
  const isFollowed = units !== null && (units.next !== null || units.isUnread);
  const isLost = isClaimed(row) && job === null && mayHaveRun(view);
  const phase = phaseOf(view);
  return {
    ...view,
    row,
    isClaimed: isClaimed(row),
    isLost,
    isJobDue: isAtWork ? ended?.kind === 'done' && isFollowed : isClaimed(row) && !isLost,
    isStorageAway: storageProblem !== null || units?.isUnread === true,
    end: ended,
    phase,
    pendingMs: job === null ? null : chunks === null ? pendingMsOf(view, job, phase) : chunks.pendingMs,
    chunks,
  };
}

/** Whether an executor has claimed the row: one that waits for its next attempt is `admitted` again. */
export function isClaimed({ status, phase }: Pick<Job, 'status' | 'phase'>): boolean {
  return status === 'processing' && phase !== 'admitted';
}

/** Without a pool no Job was created. */
function mayHaveRun({ current, pool }: View): boolean {
  return !current.isBeingCreated && !current.isNeverCreated && pool.spec !== null;
}

function endOfSinglePod({ current: { pod }, nowMs }: View, { attempt }: Job, job: JobSnapshot): AttemptEnd | null {
  return endOfAttempt({ attempt, job, pod }, nowMs);
}

function pendingMsOf({ current: { pod }, nowMs }: View, job: JobSnapshot, phase: JobPhase | null): number | null {
  const lastStepMs = pod === null ? null : lastFinishedMs(pod);
  return phase === null ? nowMs - (lastStepMs ?? pendingSince(pod, job, nowMs)) : null;
}

const phaseOfStep: Readonly<Record<string, JobPhase>> = {
  fetch: 'probing',
  process: 'encoding',
  publish: 'packaging',
  all: 'encoding',
};

function phaseOf({ current: { pod }, units }: View): JobPhase | null {
  const step = pod?.containers.findLast(({ isRunning }) => isRunning);
  const phase = step === undefined ? null : (phaseOfStep[step.name] ?? null);
  // `split` publishes chunk sources, not the stream, so the phase stays `encoding`.
  const isOutput = units === null || unitKindRow(units.kind).packagesOutput;
  return phase === 'packaging' && !isOutput ? 'encoding' : phase;
}
