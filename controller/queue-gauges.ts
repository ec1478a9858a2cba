import { queueNames } from '#domain/jobs/routing.ts';
import type { Component } from '#platform/lifecycle/component.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { TicketQueue } from '#platform/queue/ticket-queue.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import { periodicComponent } from './periodic-component.ts';

interface GaugeDependencies {
  readonly queue: Pick<TicketQueue, 'depth'>;
  readonly jobs: Pick<JobStore, 'countAtWork' | 'oldestWaitingSeconds'>;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly everyMs: number;
}

/**
 * Refreshes `svc_queue_tasks` and counts failed refreshes (C4.64, C4.65). `active` counts the claimed jobs in the
 * database, since a ticket is deleted as soon as its attempt has started.
 */
export function queueGaugesComponent({ queue, jobs, metrics, log, everyMs }: GaugeDependencies): Component {
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
        const states = { pending, retry, active: atWork[name] };
        for (const [state, count] of Object.entries(states)) metrics.queueTasks.set({ queue: name, state }, count);
      }
    } catch (error) {
      metrics.queueSyncFailures.inc({});
      log.warn({ err: error }, 'queue depth refresh failed');
    }
  };
  return periodicComponent({ name: 'queue gauges', everyMs, log, work: refresh });
}
