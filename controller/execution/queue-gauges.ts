import { queueNames } from '#domain/jobs/routing.ts';
import type { Component } from '#platform/lifecycle/component.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { TicketQueue } from '#platform/queue/ticket-queue.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import type { Executor } from './executor.ts';
import { periodicComponent } from '#platform/lifecycle/periodic-component.ts';

interface GaugeDependencies {
  readonly queue: Pick<TicketQueue, 'depth'>;
  readonly jobs: Pick<JobStore, 'countAtWork' | 'oldestWaitingSeconds'>;
  readonly executor?: Pick<Executor, 'activePods'>;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly everyMs: number;
}

/**
 * Refreshes `svc_queue_tasks` and counts failed refreshes (C25.11, C25.12). `active` counts what the concurrency
 * bounds: pods, or without them the claimed jobs in the database, since a ticket is deleted once its attempt starts.
 */
export function queueGaugesComponent(dependencies: GaugeDependencies): Component {
  const { queue, jobs, executor, metrics, log, everyMs } = dependencies;
  const refresh = async () => {
    try {
      const [depths, atWork, oldest] = await Promise.all([
        queue.depth(),
        jobs.countAtWork(),
        jobs.oldestWaitingSeconds(),
      ]);
      for (const name of queueNames) {
        metrics.queueOldest.set({ queue: name }, oldest[name]);
        const { pending, retry } = depths[name];
        const states = { pending, retry, active: executor?.activePods(name) ?? atWork[name] };
        for (const [state, count] of Object.entries(states)) metrics.queueTasks.set({ queue: name, state }, count);
      }
    } catch (error) {
      metrics.queueSyncFailures.inc({});
      log.warn({ err: error }, 'queue depth refresh failed');
    }
  };
  return periodicComponent({ name: 'queue gauges', everyMs, log, work: refresh });
}
