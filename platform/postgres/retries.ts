import { KnownProblem } from '#domain/errors.ts';
import type { Job } from '#domain/jobs/job.ts';
import { liveStatuses } from '#domain/jobs/status.ts';
import type { PoolClient } from 'pg';
import type { Database } from './database.ts';
import { answersEqual, giveUpKeyOfDeleted } from './equal-keys.ts';
import {
  describedColumns,
  describedValues,
  insertedColumns,
  insertedValues,
  jobColumns,
  type JobRow,
  jobOfRow,
  type NewJob,
} from './job-row.ts';

/** What became of a retry. `jobs` are in the order of `newJobs`; one of them may be an equal job that was there. */
export type RetriesCreated =
  | { readonly outcome: 'created'; readonly jobs: Job[] }
  | { readonly outcome: 'not_found' | 'not_failed' | 'retry_exists' }
  | { readonly outcome: 'not_allowed'; readonly reason: string };

const lock = `select ${jobColumns} from jobs where id = $1 for update`;
const liveRetry = 'select 1 from jobs where retry_of_job_id = $1 and status = any($2) limit 1';
const insert = `
  insert into jobs (${insertedColumns}, ${describedColumns}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
    $13, $14, $15, $16, $17, $18, $19, $20, $21)
  on conflict (idempotency_key) where status not in ('failed', 'cancelled') do nothing
  returning ${jobColumns}`;
const findEqual = `
  select ${jobColumns} from jobs where idempotency_key = $1 and status = any($2) and ${answersEqual}`;

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
      const made = new Map<string, Job>();
      // In the order of their keys, so that two transactions with equal jobs cannot wait for each other.
      for (const newJob of wanted.toSorted((a, b) => (a.idempotencyKey < b.idempotencyKey ? -1 : 1))) {
        made.set(newJob.id, await insertOrFind(client, newJob));
      }
      return { outcome: 'created', jobs: wanted.map(({ id }) => made.get(id) as Job) };
    });
  } catch (error) {
    if (error instanceof KnownProblem && error.code === 'not_retryable')
      return { outcome: 'not_allowed', reason: error.message };
    throw error;
  }
}

/** The new job, or the live one that is equal to it, as an equal submission would be answered. */
async function insertOrFind(client: PoolClient, newJob: NewJob): Promise<Job> {
  // Neither: the equal job ended between the two statements, or its media is deleted.
  for (let tries = 0; tries < 100; tries++) {
    const inserted = await client.query<JobRow>(insert, [...insertedValues(newJob), ...describedValues(newJob)]);
    if (inserted.rows[0] !== undefined) return jobOfRow(inserted.rows[0]);
    const found = await client.query<JobRow>(findEqual, [newJob.idempotencyKey, liveStatuses]);
    if (found.rows[0] !== undefined) return jobOfRow(found.rows[0]);
    await giveUpKeyOfDeleted(client, newJob.idempotencyKey);
  }
  throw new Error('equal jobs came and went too fast to find one');
}
