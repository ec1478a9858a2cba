import { KnownProblem } from '#domain/errors.ts';
import type { Job } from '#domain/jobs/job.ts';
import { liveStatuses } from '#domain/jobs/status.ts';
import type { Database } from './database.ts';
import { jobColumns, type JobRow, jobOfRow, type NewJob } from './job-row.ts';
import { insertOrHold, lockQuotas } from './quotas.ts';

/** The outcome of a retry. `jobs` are in the order of `newJobs`; one of them may be an equal job that was there. */
export type RetriesCreated =
  | { readonly outcome: 'created'; readonly jobs: Job[] }
  | { readonly outcome: 'not_found' | 'not_failed' | 'retry_exists' }
  | { readonly outcome: 'not_allowed'; readonly reason: string };

const lock = `select ${jobColumns} from jobs where id = $1 for update`;
const liveRetry = 'select 1 from jobs where retry_of_job_id = $1 and status = any($2) limit 1';

/** See `JobStore.createRetries`. */
export async function createRetries(
  database: Database,
  { jobId, newJobs }: { readonly jobId: string; readonly newJobs: (job: Job) => readonly NewJob[] },
): Promise<RetriesCreated> {
  try {
    return await database.transaction(async (client): Promise<RetriesCreated> => {
      // The lock makes a second retry of the same job wait, and then see the first one's rows.
      const { rows } = await client.query<JobRow>(lock, [jobId]);
      if (rows[0] === undefined) return { outcome: 'not_found' };
      const job = jobOfRow(rows[0]);
      if (job.status !== 'failed') return { outcome: 'not_failed' };
      const { rowCount } = await client.query(liveRetry, [jobId, liveStatuses]);
      if (rowCount !== 0) return { outcome: 'retry_exists' };
      const wanted = newJobs(job);
      const { keyId, quotas } = wanted[0] ?? {};
      const jobs = wanted.length;
      const { refusal = null, wait = null } = keyId && quotas ? await lockQuotas(client, { keyId, quotas, jobs }) : {};
      if (refusal !== null) throw refusal;
      const made = new Map<string, Job>();
      // In the order of their keys, so that two transactions with equal jobs cannot wait for each other.
      for (const newJob of wanted.toSorted((a, b) => (a.idempotencyKey < b.idempotencyKey ? -1 : 1))) {
        made.set(newJob.id, (await insertOrHold(client, newJob, wait)).job);
      }
      return { outcome: 'created', jobs: wanted.map(({ id }) => made.get(id) as Job) };
    });
  } catch (error) {
    if (error instanceof KnownProblem && error.code === 'not_retryable')
      return { outcome: 'not_allowed', reason: error.message };
    throw error;
  }
}
