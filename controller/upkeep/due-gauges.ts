import { dueKinds, dueStates } from '#domain/work/due.ts';
import type { PeriodicTask } from '#platform/lifecycle/periodic-component.ts';
import type { DueDelays, DueWorkStore } from '#platform/postgres/due-work.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';

interface DueGaugesDependencies {
  readonly dueWork: Pick<DueWorkStore, 'count'>;
  readonly metrics: Pick<Metrics, 'dueWork'>;
  readonly delays: DueDelays;
}

/** Refreshes `svc_due_work`; every controller reports the same. */
export function dueGaugesTask({ dueWork, metrics, delays }: DueGaugesDependencies): PeriodicTask {
  const work = async () => {
    const counts = await dueWork.count(delays);
    for (const kind of dueKinds)
      for (const state of dueStates) metrics.dueWork.set({ kind, state }, counts[kind][state]);
  };
  return { name: 'due work gauges', work };
}
