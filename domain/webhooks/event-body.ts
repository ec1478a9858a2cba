import type { Job } from '../jobs/job.ts';
import { wellFormedJson } from '../well-formed-json.ts';

/**
 * The body of a job's webhook (C21.3, C21.4, C21.7), serialised once: these bytes are stored, signed and sent at every
 * attempt. `error` is there for a job that did not complete.
 */
export function webhookBody(
  job: Pick<Job, 'id' | 'type' | 'hash' | 'status' | 'results' | 'error'>,
  event: { eventId: string; occurredAt: Date },
): string {
  return wellFormedJson({
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
