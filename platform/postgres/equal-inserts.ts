import type { PoolClient } from 'pg';
import type { Job } from '#domain/jobs/job.ts';
import { liveStatuses } from '#domain/jobs/status.ts';
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

const insert = `
  insert into jobs (${insertedColumns}, ${describedColumns}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
    $13, $14, $15, $16, $17, $18, $19, $20, $21)
  on conflict (idempotency_key) where status not in ('failed', 'cancelled') do nothing
  returning ${jobColumns}`;
const equal = `
  select ${jobColumns} from jobs where idempotency_key = $1 and status = any($2) and ${answersEqual}`;

/** In a transaction: the new job, or the live one that is equal to it, as an equal submission would be answered. */
export async function insertOrFind(client: PoolClient, newJob: NewJob): Promise<Job> {
  // Neither: the equal job ended between the two statements, or its media is deleted.
  for (let tries = 0; tries < 100; tries++) {
    const inserted = await client.query<JobRow>(insert, [...insertedValues(newJob), ...describedValues(newJob)]);
    if (inserted.rows[0] !== undefined) return jobOfRow(inserted.rows[0]);
    const found = await findEqual(client, newJob.idempotencyKey);
    if (found !== null) return found;
    await giveUpKeyOfDeleted(client, newJob.idempotencyKey);
  }
  throw new Error('equal jobs came and went too fast to find one');
}

/** The live job of an idempotency key; null when there is none. */
export async function findEqual(client: PoolClient, idempotencyKey: string): Promise<Job | null> {
  const { rows } = await client.query<JobRow>(equal, [idempotencyKey, liveStatuses]);
  return rows[0] === undefined ? null : jobOfRow(rows[0]);
}
