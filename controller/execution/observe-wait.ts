import type { Job } from '#domain/jobs/job.ts';
import { poolOfQueue } from '#domain/jobs/routing.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';

/** The metrics of how long jobs waited. */
export type WaitMetrics = Pick<Metrics, 'queueWait' | 'poolWait'>;

/** Counts how long a job waited whose first attempt begins. */
export function observeWait(
  { queueWait, poolWait }: WaitMetrics,
  { attempt, queue, pool, createdAt, startedAt }: Job,
): void {
  if (attempt !== 1 || startedAt === null) return;
  const seconds = (startedAt.getTime() - createdAt.getTime()) / 1000;
  queueWait.observe({ queue }, seconds);
  poolWait.observe({ pool: pool ?? poolOfQueue[queue] }, seconds);
}
