import { randomUUID } from 'node:crypto';
import { idempotencyKey } from '#domain/jobs/idempotency.ts';
import type { Job, ShownJob } from '#domain/jobs/job.ts';
import { jobErrorOf } from '#domain/job-error.ts';
import type { Database } from '#platform/postgres/database.ts';
import type { FinalState, JobStore, NewJob } from '#platform/postgres/job-store.ts';

/** A valid new job, equal to no other unless `over` makes it so. */
export function newJob(over: Partial<NewJob> = {}): NewJob {
  const content = {
    type: 'video:transcode' as const,
    hash: over.hash ?? randomUUID(),
    source: over.source ?? 'uploads/clip.mp4',
    options: { encrypt: true },
  };
  return {
    id: randomUUID(),
    ...content,
    idempotencyKey: idempotencyKey(content),
    queue: 'default',
    sourceSizeBytes: 20 * 2 ** 30,
    sourceEtag: '"abc"',
    callbackUrl: null,
    retryOfJobId: null,
    trace: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
    ...over,
  };
}

/** How `finish` is called for a job that failed in `attempt`. */
export function failure(jobId: string, attempt = 1, over: Partial<FinalState> = {}): FinalState {
  return {
    jobId,
    attempt,
    status: 'failed',
    results: null,
    error: jobErrorOf('storage_error', attempt),
    eventId: randomUUID(),
    ...over,
  };
}

/** A job of the store that failed in its first attempt. */
export async function failedJob(jobs: JobStore, over: Partial<NewJob> = {}): Promise<ShownJob> {
  const { job } = await jobs.insertOrFind(newJob(over));
  const failed = await jobs.finish(failure(job.id));
  if (failed === null) throw new Error('the job was expected to fail');
  return failed;
}

/** A job of the store whose first attempt `worker-1` runs. */
export async function claimedJob(jobs: JobStore, over: Partial<NewJob> = {}): Promise<Job> {
  const { job } = await jobs.insertOrFind(newJob(over));
  const claimed = await jobs.claim({ jobId: job.id, attempt: 1, owner: 'worker-1', leaseMs: 60_000 });
  if (claimed === null) throw new Error('the job was expected to be free');
  return claimed;
}

/** How many rows a table has. */
export async function count(database: Database, table: string): Promise<number> {
  const { rows } = await database.pool.query<{ count: number }>(`select count(*)::int as count from ${table}`);
  return rows[0]?.count ?? 0;
}
