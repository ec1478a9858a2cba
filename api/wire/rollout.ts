import { type Rollout, type RolloutCounts, totalOf } from '#domain/rollouts/rollout.ts';
import type { Wire } from './schemas.ts';

/** A rollout as callers see it. */
export function rolloutToWire(rollout: Rollout): Wire<'Rollout'> {
  const { id, status, isPaused, reason, spec, isPlanned, canary, verdict, skipped, coreHoursToday } = rollout;
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
    core_hours_today: Number(coreHoursToday.toFixed(4)),
    created_at: rollout.createdAt.toISOString(),
    updated_at: rollout.updatedAt.toISOString(),
    finished_at: rollout.finishedAt?.toISOString() ?? null,
  };
}

function countsToWire(counts: RolloutCounts): Wire<'Rollout'>['media'] {
  const { planned, running, done, failed, skipped, rolled_back, kept, bytesBefore, bytesAfter, compared } = counts;
  return {
    planned,
    running,
    done,
    failed,
    skipped,
    rolled_back,
    kept,
    bytes: { before: bytesBefore, after: bytesAfter, saved: bytesBefore - bytesAfter },
    score: {
      mean: meanOf(counts.scoreSum, counts.scored),
      before: meanOf(counts.comparedBeforeSum, compared),
      after: meanOf(counts.comparedAfterSum, compared),
    },
  };
}

function meanOf(sum: number, of: number): number | null {
  return of === 0 ? null : Number((sum / of).toFixed(4));
}
