import { isFinal } from '#domain/jobs/status.ts';
import { hasEnded, isFollower, isOfApiJob } from '../snapshots/media-job.ts';
import { type Attempt, attemptOf } from './attempt.ts';
import type { View } from './observed.ts';
import { problemAfterMs } from './pod-problem.ts';
import { showsAttempt } from './shown.ts';

// The first rule that holds names the situation, for which a table of actions has a function; docs/design/reconcile.md
// describes each. A rule may rely on those above it.

type Rules<V> = Readonly<Record<string, (view: V) => boolean>>;

/** An attempt that runs for less than this shows only its end. */
export const briefAttemptMs = 1_000;

/** The rules for a MediaJob whose job is not active, or is the job of another one. */
export const mediaJobRules = {
  being_deleted: ({ mediaJob }) => mediaJob.metadata?.deletionTimestamp !== undefined,
  ended_before_job: (view) => hasEnded(view.mediaJob) && isFollower(view.mediaJob, view.row) && isActive(view),
  ended: ({ mediaJob }) => hasEnded(mediaJob),
  unknown: ({ mediaJob, row }) => row === null && isOfApiJob(mediaJob),
  unmeasurable: ({ row, storageProblem }) => row === null && storageProblem !== null,
  new: ({ row }) => row === null,
  final: (view) => !isActive(view),
  follower: ({ mediaJob, row }) => isFollower(mediaJob, row),
} satisfies Rules<View>;

/** The rules for the attempt of an active job; the last one always holds. */
export const attemptRules = {
  suspended: ({ mediaJob }) => mediaJob.spec.suspend === true,
  lost: ({ isLost }) => isLost,
  being_created: ({ isJobDue, current }) => isJobDue && current.isBeingCreated,
  without_pool: ({ isJobDue, pool }) => isJobDue && pool.spec === null,
  storage_away: (attempt) => (attempt.isJobDue || !attempt.isClaimed) && attempt.isStorageAway,
  queued: ({ isClaimed, isJobDue, pool }) => !isClaimed || (isJobDue && !pool.hasCapacity),
  to_create: ({ isJobDue }) => isJobDue,
  storage_outage: ({ chunks }) => chunks !== null && chunks.outage !== null,
  ended_attempt: ({ end }) => end !== null,
  job_suspended: ({ current }) => current.job?.isSuspended === true,
  on_lost_nodes: ({ chunks }) => chunks?.isOnLostNodes === true,
  kept_running: ({ chunks }) => chunks !== null && chunks.keptRunning.length > 0,
  out_of_slots: ({ chunks, pendingMs }) => pendingMs !== null && chunks?.units.parallelism === 0,
  never_began: ({ pendingMs, settings }) => pendingMs !== null && pendingMs >= settings.pendingDeadlineMs,
  outdated: ({ pendingMs, current }) => pendingMs !== null && current.isOutdated && pendingMs >= problemAfterMs,
  beginning: (attempt) => attempt.pendingMs !== null && attempt.pendingMs < problemAfterMs && !showsAttempt(attempt),
  pending: ({ pendingMs }) => pendingMs !== null,
  chunk_never_began: ({ chunks, settings }) =>
    chunks?.stuck != null && chunks.stuck.waitedMs >= settings.pendingDeadlineMs,
  chunks_running: ({ chunks }) => chunks !== null,
  node_not_ready: ({ current }) => current.unreadyNode !== null,
  brief: (attempt) => attempt.current.runningMs < briefAttemptMs && !showsAttempt(attempt),
  running: () => true,
} satisfies Rules<Attempt>;

export type MediaJobSituation = keyof typeof mediaJobRules;
export type AttemptSituation = keyof typeof attemptRules;

/** The situation of a MediaJob; with its attempt, where its own job is active. */
export type Classified =
  | { readonly situation: MediaJobSituation; readonly attempt: null }
  | { readonly situation: AttemptSituation; readonly attempt: Attempt };

/** Finds the situation of a MediaJob. */
export function classify(view: View): Classified {
  const situation = firstOf(mediaJobRules, view);
  if (situation !== undefined) return { situation, attempt: null };
  const attempt = attemptOf(view);
  return { situation: firstOf(attemptRules, attempt) ?? 'running', attempt };
}

function firstOf<Situation extends string, V>(
  rules: Readonly<Record<Situation, (view: V) => boolean>>,
  view: V,
): Situation | undefined {
  return (Object.keys(rules) as Situation[]).find((situation) => rules[situation](view));
}

function isActive({ row }: View): boolean {
  return row !== null && !isFinal(row.status);
}
