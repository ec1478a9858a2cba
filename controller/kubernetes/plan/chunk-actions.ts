import { progressOf } from '#domain/jobs/progress.ts';
import { podsMaxOf } from '../snapshots/job.ts';
import { isPodOver, lastFinishedMs } from '../snapshots/pod.ts';
import { chunkOf, chunksProgress } from '../snapshots/units.ts';
import type { Attempt } from './attempt.ts';
import { type Action, deletionsOf, type Plan } from './observed.ts';
import { type PodProblem, problemAfterMs } from './pod-problem.ts';

// What is done for the chunks of an attempt, beside what is done for any attempt.

/** How often the slots of the pool are looked at while chunks are encoded. */
export const chunkCheckMs = 5_000;

/**
 * More pods while the pool has slots, fewer while others wait for slots. Kubernetes would delete excess pods at once,
 * so the number falls only as pods end, and no chunk is encoded in vain.
 */
export function scalingOf({ chunks }: Attempt): Action[] {
  if (chunks === null) return [];
  const { job, units, started } = chunks;
  const current = job.indexed?.parallelism ?? 1;
  const needed = Math.max(units.parallelism, started);
  const parallelism = needed < podsMaxOf(job) ? needed : Math.max(units.parallelism, current);
  return parallelism === current ? [] : [{ do: 'scaleJob', job, parallelism }];
}

/** The plan for an attempt that waits, and for its chunks also their number. */
export function withScaling(attempt: Attempt, planned: Plan): Plan {
  if (attempt.chunks === null) return planned;
  const requeueAfterMs = Math.min(planned.requeueAfterMs ?? chunkCheckMs, chunkCheckMs);
  return { ...planned, actions: [...planned.actions, ...scalingOf(attempt)], requeueAfterMs };
}

/**
 * Ends the Job of pods whose work is done, unless their added containers end by themselves within a moment: the Job
 * controller does not count them. Then the chunk results decide: a Job for the chunks without one follows, or the next
 * units.
 */
export function untilPodsEnd({ chunks, nowMs }: Attempt): Plan {
  if (chunks === null) return { actions: [] };
  const endedMs = Math.max(...chunks.keptRunning.map((each) => lastFinishedMs(each) ?? 0));
  const leftMs = endedMs + problemAfterMs - nowMs;
  return leftMs > 0
    ? { actions: [], requeueAfterMs: leftMs }
    : { actions: deletionsOf([chunks.job]), requeueAfterMs: chunkCheckMs };
}

/** Reports how many chunks are finished, if that is news. */
export function chunksProgressReport({ chunks, row }: Attempt): Action[] {
  if (chunks === null || chunks.units.pending === null) return [];
  const { fraction } = chunksProgress(chunks.units.pending, chunks.job.indexed?.completed);
  const isNews = row.phase !== 'encoding' || progressOf('encoding', fraction) > row.progress;
  return isNews ? [{ do: 'reportPhase', phase: 'encoding', fraction }] : [];
}

/** The problem of a chunk's pod names the chunk. */
export function ofChunk(problem: PodProblem | null, { units, current: { pod } }: Attempt): PodProblem | null {
  if (problem === null || pod === null || isPodOver(pod)) return problem;
  const chunk = chunkOf(pod, units?.pending ?? null);
  return chunk === null ? problem : { ...problem, message: `Chunk ${chunk}: ${problem.message}` };
}
