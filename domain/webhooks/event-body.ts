import type { Job } from '../jobs/job.ts';

/**
 * The body of a job's webhook (C6.3, C6.4, C6.11), serialised once: these bytes are stored, signed and sent at every attempt.
 * `error` is there for a job that did not complete.
 */
export function webhookBody(
  job: Pick<Job, 'id' | 'type' | 'hash' | 'status' | 'results' | 'error'>,
  event: { eventId: string; occurredAt: Date },
): string {
  return JSON.stringify({
    event_id: event.eventId,
    occurred_at: event.occurredAt.toISOString(),
    job_id: job.id,
    type: job.type,
    hash: job.hash,
    status: job.status,
    results: job.results,
    ...(job.error === null ? {} : { error: job.error }),
  });
}
