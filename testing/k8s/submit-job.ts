import { randomUUID } from 'node:crypto';
import { type JobType, jobTypes } from '#domain/job-types/index.ts';
import { ticketOf } from '#jobs/submission/enqueue.ts';
import type { NewJob } from '#platform/postgres/job-row.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { TicketQueue } from '#platform/queue/ticket-queue.ts';
import { newJobOf } from '../new-job.ts';

export type Submitted = Partial<NewJob> & { readonly options?: unknown };

/** Makes a job's row and ticket, as the API does; gives its id. */
export async function submitJob(
  { jobs, queue }: { readonly jobs: JobStore; readonly queue: TicketQueue },
  type: JobType,
  more: Submitted = {},
): Promise<string> {
  const options = jobTypes[type].options.parse(more.options ?? {});
  const request = { type, hash: `hash-${randomUUID()}`, source: 'source', ...more, options };
  const { job } = await jobs.insertOrFind({ ...newJobOf(request), ...request });
  // On a busy machine it may not answer in its two seconds; the sweeper adds what is missing.
  await queue.add(ticketOf(job)).catch(() => undefined);
  return job.id;
}
