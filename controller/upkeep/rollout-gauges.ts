import { rolloutStatuses } from '#domain/rollouts/rollout.ts';
import type { PeriodicTask } from '#platform/lifecycle/periodic-component.ts';
import type { RolloutStore } from '#platform/postgres/rollout-store.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';

interface RolloutGaugesDependencies {
  readonly rollouts: Pick<RolloutStore, 'countByStatus'>;
  readonly metrics: Pick<Metrics, 'rollouts'>;
}

/** Refreshes `svc_rollouts`; every controller reports the same. */
export function rolloutGaugesTask({ rollouts, metrics }: RolloutGaugesDependencies): PeriodicTask {
  const work = async () => {
    const counts = await rollouts.countByStatus();
    for (const phase of rolloutStatuses) metrics.rollouts.set({ phase }, counts.get(phase) ?? 0);
  };
  return { name: 'rollout gauges', work };
}
