import { bytesSaved, itemCountsOf, meanScore } from '#domain/rollouts/counts.ts';
import { type Rollout, type RolloutCounts, totalOf } from '#domain/rollouts/rollout.ts';
import type { Wire } from './schemas.ts';

/** A rollout as callers see it. */
export function rolloutToWire(rollout: Rollout): Wire<'Rollout'> {
  const { id, status, isPaused, reason, spec, isPlanned, canary, verdict, skipped, hoursToday } = rollout;
  return {
    rollout_id: id,
    status,
    paused: isPaused,
    reason,
    spec,
    is_planned: isPlanned,
    media: countsToWire(totalOf(rollout)),
    canary: spec.canary === undefined ? null : countsToWire(canary),
    gate: verdict === null ? null : { passed: verdict.passed, failures: [...verdict.failures] },
    not_chosen: { ...skipped },
    hours_today: Number(hoursToday.toFixed(4)),
    created_at: rollout.createdAt.toISOString(),
    updated_at: rollout.updatedAt.toISOString(),
    finished_at: rollout.finishedAt?.toISOString() ?? null,
  };
}

function countsToWire(counts: RolloutCounts): Wire<'Rollout'>['media'] {
  const { bytesBefore, bytesAfter, compared } = counts;
  return {
    ...itemCountsOf(counts),
    bytes: { before: bytesBefore, after: bytesAfter, saved: bytesSaved(counts) },
    score: {
      mean: meanScore(counts.scoreSum, counts.scored),
      before: meanScore(counts.comparedBeforeSum, compared),
      after: meanScore(counts.comparedAfterSum, compared),
    },
  };
}
