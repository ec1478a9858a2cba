import { steps } from '#domain/work/steps.ts';
import { jobTypeNames } from '#domain/job-types/index.ts';
import type { PeriodicTask } from '#platform/lifecycle/periodic-component.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';

interface UsageGaugesDependencies {
  readonly jobs: Pick<JobStore, 'usageOfToday'>;
  readonly metrics: Pick<
    Metrics,
    'usageJobs' | 'usageOutputMinutes' | 'usageProcessorSeconds' | 'usagePodSeconds' | 'usageWastedSeconds'
  >;
}

/** Refreshes `svc_usage_…`, the usage of today; every controller reports the same. */
export function usageGaugesTask({ jobs, metrics }: UsageGaugesDependencies): PeriodicTask {
  const work = async () => {
    const rows = await jobs.usageOfToday();
    for (const type of jobTypeNames) {
      const used = rows.find((row) => row.type === type);
      const msOf = { fetch: used?.fetchMs, process: used?.processMs, publish: used?.publishMs };
      for (const step of steps) metrics.usageProcessorSeconds.set({ type, step }, (msOf[step] ?? 0) / 1000);
      metrics.usageJobs.set({ type }, used?.jobs ?? 0);
      metrics.usageOutputMinutes.set({ type }, (used?.outputMs ?? 0) / 60_000);
      metrics.usagePodSeconds.set({ type }, (used?.podMs ?? 0) / 1000);
      metrics.usageWastedSeconds.set({ type }, (used?.wastedMs ?? 0) / 1000);
    }
  };
  return { name: 'usage gauges', work };
}
