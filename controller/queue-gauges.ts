import type { Part } from '#platform/lifecycle/part.ts';
import type { TicketQueue } from '#platform/queue/ticket-queue.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import { repeatingPart } from './repeating-part.ts';

interface GaugeDependencies {
  readonly queue: Pick<TicketQueue, 'depth'>;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly everyMs: number;
}

/** Keeps `svc_queue_tasks` up to date, and counts the times it could not (section 4, "Metric families"). */
export function queueGaugesPart({ queue, metrics, log, everyMs }: GaugeDependencies): Part {
  const refresh = async () => {
    try {
      const depths = await queue.depth();
      for (const [name, depth] of Object.entries(depths))
        for (const [state, count] of Object.entries(depth)) metrics.queueTasks.set({ queue: name, state }, count);
    } catch (error) {
      metrics.queueSyncFailures.inc({});
      log.warn({ err: error }, 'the depth of the queues could not be read');
    }
  };
  return repeatingPart({ name: 'queue gauges', everyMs, log, work: refresh });
}
