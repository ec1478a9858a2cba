import { randomUUID } from 'node:crypto';
import { idempotencyKey } from '#domain/jobs/idempotency.ts';
import type { NewJob } from '#platform/postgres/job-row.ts';

/** The row of a submission that asks for nothing out of the ordinary. */
export function newJobOf(request: Pick<NewJob, 'type' | 'hash' | 'source' | 'options'>): NewJob {
  return {
    ...request,
    id: randomUUID(),
    idempotencyKey: idempotencyKey(request),
    queue: 'default',
    sourceSizeBytes: null,
    sourceEtag: null,
    callbackUrl: null,
    retryOfJobId: null,
    trace: null,
  };
}
