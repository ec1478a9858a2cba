import type { PoolClient } from 'pg';
import type { JobError } from '#domain/job-error.ts';
import type { Job } from '#domain/jobs/job.ts';
import { type JobResults, jobTypes } from '#domain/job-types/index.ts';
import { statusesBefore } from '#domain/jobs/status.ts';
import { webhookBody } from '#domain/webhooks/event-body.ts';
import type { Database } from './database.ts';
import { type CurrentAttempt, jobColumns, type JobRow, jobOfRow, toJson } from './job-row.ts';

/** The end of a job, as `JobStore.finish` records it. */
export interface FinalState extends CurrentAttempt {
  readonly status: 'completed' | 'failed' | 'cancelled';
  readonly results: JobResults | null;
  readonly error: JobError | null;
  /** Percent; by default what the type shows when completed, or what the job had reached. Never lowers it. */
  readonly progress?: number;
  /** UUID of the webhook event, if there is one to write. */
  readonly eventId: string;
  /** For tests; the database's clock by default. */
  readonly now?: Date;
  /**
   * Runs before the commit, while the job's row is locked and this attempt is known to be the current one: no other
   * attempt, cancellation or completion of the job takes effect until it resolves. When it throws, nothing is
   * recorded and `finish` throws the same. It runs again when the commit failed and the caller tries again. It
   * occupies a connection of the pool, so it must end within seconds.
   */
  readonly beforeCommit?: (locked: LockedJob) => Promise<void>;
}

/** What `FinalState.beforeCommit` knows. */
export interface LockedJob {
  /** The job before its end. */
  readonly job: Job;
  /**
   * Whether a job of the same hash that was submitted later has ended with a stream. Jobs of one hash run
   * `beforeCommit` one after another, so the answer holds until the commit.
   */
  readonly hasNewerStream: boolean;
}

const lock = `select ${jobColumns} from jobs where id = $1 and attempt = $2 and status = any($3) for update`;
const lockHash = 'select pg_advisory_xact_lock(hashtextextended($1, 0))';
const newerStream = `
  select exists (
    select from jobs where hash = $1 and (created_at, id) > ($2, $3::uuid) and finished_at is not null
      and json_typeof(results -> 'streaming') = 'object'
  ) as is_there`;
const end = `
  update jobs set status = $2, results = $3, error = $4, progress = greatest(progress, $5), phase = null,
    callback_status = case when callback_url is not null and $2 <> 'cancelled' then 'pending' end,
    lease_owner = null, lease_expires_at = null, not_before = null, waiting_reason = null, finished_at = coalesce($6, now())
  where id = $1
  returning ${jobColumns}`;
const insertEvent = `
  insert into webhook_events (id, job_id, url, body, trace, next_attempt_at, created_at)
  values ($1, $2, $3, $4, $5, $6, $6)`;

/** See `JobStore.finish`. */
export function finishJob(database: Database, final: FinalState): Promise<Job | null> {
  return database.transaction(async (client) => {
    const guard = [final.jobId, final.attempt, statusesBefore(final.status)];
    const { rows: before } = await client.query<JobRow>(lock, guard);
    if (before[0] === undefined) return null;
    await final.beforeCommit?.(await lockedJobOf(client, jobOfRow(before[0])));
    const ownProgress = final.status === 'completed' ? jobTypes[before[0].type].completedProgress : 0;
    const { rows } = await client.query<JobRow>(end, [
      final.jobId,
      final.status,
      toJson(final.results),
      toJson(final.error),
      final.progress ?? ownProgress,
      final.now ?? null,
    ]);
    const job = jobOfRow(rows[0] as JobRow);
    if (job.callbackUrl !== null && job.status !== 'cancelled') {
      const body = webhookBody(job, { eventId: final.eventId, occurredAt: job.finishedAt as Date });
      const event = [final.eventId, job.id, job.callbackUrl, body, toJson(job.trace), job.finishedAt];
      await client.query(insertEvent, event);
    }
    return job;
  });
}

async function lockedJobOf(client: PoolClient, job: Job): Promise<LockedJob> {
  await client.query(lockHash, [job.hash]);
  const { rows } = await client.query<{ is_there: boolean }>(newerStream, [job.hash, job.createdAt, job.id]);
  return { job, hasNewerStream: rows[0]?.is_there === true };
}
