import { overdueTasks } from '#domain/jobs/overdue.ts';
import type { Config } from '#platform/config/config.ts';
import type { CleanupStore } from '#platform/postgres/cleanup-store.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import type { PeriodicTask } from '#platform/lifecycle/periodic-component.ts';

interface OverdueDependencies {
  readonly cleanup: Pick<CleanupStore, 'overdueSeconds'>;
  readonly metrics: Pick<Metrics, 'overdue'>;
  readonly config: Pick<Config, 'jobRetentionMs' | 'revisionRetentionMs'>;
  readonly cleanupGraceMs: number;
}

/** Refreshes `svc_overdue_seconds`: for how long cleanup, retention and webhooks have been behind. */
export function overdueGaugesTask({ cleanup, metrics, config, cleanupGraceMs }: OverdueDependencies): PeriodicTask {
  const work = async () => {
    const { jobRetentionMs, revisionRetentionMs } = config;
    const seconds = await cleanup.overdueSeconds({ cleanupGraceMs, jobRetentionMs, revisionRetentionMs });
    for (const task of overdueTasks) metrics.overdue.set({ task }, seconds[task]);
  };
  return { name: 'overdue gauges', work };
}
