import type { PoolQueue } from '#domain/jobs/pool-queue.ts';
import type { Wire } from './schemas.ts';

/** A pool as callers see it. */
export function poolToWire({
  name,
  queue,
  running,
  waiting,
  oldestWaitingAt,
  reasons,
}: PoolQueue): Wire<'PoolList'>['pools'][number] {
  return {
    name,
    queue,
    running,
    waiting,
    oldest_waiting_at: oldestWaitingAt?.toISOString() ?? null,
    reasons: reasons.map(({ code, message, jobs, jobId }) => ({ code, message, jobs, job_id: jobId })),
  };
}
