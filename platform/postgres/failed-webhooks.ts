import type { JobType } from '#domain/job-types/index.ts';
import type { Database } from './database.ts';
import type { JobCursor } from './job-list.ts';
import { readList } from './list-database.ts';

/** The webhook of a job that was not delivered, with the last attempt; what is null is not known. */
export interface FailedWebhook {
  readonly jobId: string;
  readonly type: JobType;
  readonly hash: string;
  readonly url: string;
  readonly failedAt: Date;
  readonly attempts: number;
  readonly statusCode: number | null;
  readonly error: string | null;
}

const list = `
  select job_id as "jobId", type, hash, url, failed_at as "failedAt", attempts, status_code as "statusCode",
    last.error
  from (
    select id, job_id, url, failed_at, attempts from webhook_events
    where failed_at is not null and job_id is not null and not is_additional
      and ($1::timestamptz is null or (failed_at, job_id) < ($1, $2::uuid))
    order by failed_at desc, job_id desc limit $3
  ) as failed join jobs on jobs.id = job_id left join lateral (
    select status_code, error from webhook_attempts where event_id = failed.id order by id desc limit 1
  ) as last on true order by failed_at desc, job_id desc`;

/**
 * At most `limit` webhooks whose delivery has failed for good, the latest first. One that is delivered again is not
 * among them. `after`: the time of the last failure of the page before, and its job.
 *
 * @param database of `openListDatabase`
 * @throws KnownProblem `busy` when too many lists are read
 */
export async function failedWebhooks(
  database: Pick<Database, 'pool'>,
  { after, limit }: { readonly after: JobCursor | null; readonly limit: number },
): Promise<FailedWebhook[]> {
  return await readList<FailedWebhook>(database, list, [after?.createdAt ?? null, after?.id ?? null, limit]);
}
