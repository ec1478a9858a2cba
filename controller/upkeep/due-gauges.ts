import { dueKinds, dueStates } from '#domain/work/due.ts';
import type { Config } from '#platform/config/config.ts';
import type { PeriodicTask } from '#platform/lifecycle/periodic-component.ts';
import type { DueDelays, DueWorkStore } from '#platform/postgres/due-work.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import { keptRows } from './old-rows.ts';

interface DueGaugesDependencies {
  readonly dueWork: Pick<DueWorkStore, 'count'>;
  readonly metrics: Pick<Metrics, 'dueWork'>;
  readonly config: Pick<Config, 'jobRetentionMs' | 'revisionRetentionMs' | 'ticketAgeMs' | 'imports' | 'uploads'>;
  readonly cleanupGraceMs: number;
}

/** Refreshes `svc_due_work`; every controller reports the same. */
export function dueGaugesTask({ dueWork, metrics, ...settings }: DueGaugesDependencies): PeriodicTask {
  const delays = dueDelays(settings);
  const work = async () => {
    const counts = await dueWork.count(delays);
    for (const kind of dueKinds)
      for (const state of dueStates) metrics.dueWork.set({ kind, state }, counts[kind][state]);
  };
  return { name: 'due work gauges', work };
}

function dueDelays({ config, cleanupGraceMs }: Pick<DueGaugesDependencies, 'config' | 'cleanupGraceMs'>): DueDelays {
  const ofUploads = config.uploads === null ? null : 0;
  return {
    ...(Object.fromEntries(dueKinds.map((kind) => [kind, 0])) as Record<keyof DueDelays, 0>),
    ...keptRows,
    cleanup: cleanupGraceMs,
    revision_retention: config.revisionRetentionMs,
    job_retention: config.jobRetentionMs,
    upload_expiry: ofUploads,
    upload_removal: ofUploads,
    import_removal: ofUploads,
    import: config.imports === null ? null : ofUploads,
    missing_ticket: config.ticketAgeMs,
  };
}
