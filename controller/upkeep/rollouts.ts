import { advanceRollout } from '#jobs/rollouts/advance-rollout.ts';
import type { RolloutDependencies } from '#jobs/rollouts/dependencies.ts';
import { dueTask, inPages } from './due-rows.ts';
import type { PeriodicTask } from '#platform/lifecycle/periodic-component.ts';

/** How long the items of an ended rollout stay; its row and its counts stay for good. */
const itemsKeptMs = 90 * 86_400_000;
const itemsAtOnce = 1_000;
const nextRoundMs = 1_000;
const retryMs = 5_000;

/** Works on the rollouts that are due, each by one worker at a time. */
export function rolloutTask(dependencies: RolloutDependencies): PeriodicTask {
  const { rollouts, log } = dependencies;
  return dueTask('rollouts', {
    claim: (limit) => rollouts.claim(limit),
    handle: async ({ id }, signal) => {
      await advanceRollout(id, dependencies, signal);
      await rollouts.defer(id, nextRoundMs);
      return null;
    },
    onFailure: ({ id }, error) => {
      log.warn({ err: error, rollout_id: id, retry_in_ms: retryMs }, 'rollout round failed');
      return rollouts.defer(id, retryMs);
    },
    pageSize: 1,
  });
}

/** Forgets the items of rollouts that ended long ago. */
export function rolloutRetentionTask({ rollouts }: Pick<RolloutDependencies, 'rollouts'>): PeriodicTask {
  const work = (signal: AbortSignal) =>
    inPages((limit) => rollouts.forgetItems(itemsKeptMs, limit), signal, itemsAtOnce);
  return { name: 'rollout retention', work };
}
