import { randomUUID } from 'node:crypto';
import type { PoolClient } from 'pg';
import type { JobError } from '#domain/job-error.ts';
import type { ShownJob } from '#domain/jobs/job.ts';
import { type JobResults, jobTypes } from '#domain/job-types/index.ts';
import { mediaTimeOf } from '#domain/job-types/media-time.ts';
import { statusesBefore } from '#domain/jobs/status.ts';
import { expiresAfterMs } from '#domain/media/profiles.ts';
import { webhookBody } from '#domain/webhooks/event-body.ts';
import type { UnitRun } from '#domain/work/unit-run.ts';
import type { Database } from './database.ts';
import { lockHash } from './deletion-fence.ts';
import { endAssignments, endParameters } from './ended-attempts.ts';
import { type CurrentAttempt, type JobRow, jobOfRow, shownColumns, toJson } from './job-row.ts';
import { settleKeyOfCompleted } from './equal-keys.ts';

/** The end of a job, as `JobStore.finish` records it. */
export interface FinalState extends CurrentAttempt {
  readonly status: 'completed' | 'failed' | 'cancelled';
  readonly results: JobResults | null;
  /** The objects that the results name, and what made them; null where there are none, or it is not known. */
  readonly made?: { readonly objects: number; readonly bytes: number; readonly toolVersion?: string | null } | null;
  readonly error: JobError | null;
  /** The units that the attempt ran; by default they are not known. */
  readonly units?: readonly UnitRun[] | undefined;
  /** Percent; by default what the type shows when completed, or what the job had reached. Never lowers it. */
  readonly progress?: number;
  /** UUID of the webhook event, if there is one to write. */
  readonly eventId: string;
  /** For tests; the database's clock by default. */
  readonly now?: Date;
  /**
   * Runs before the commit, while the job's row is locked and this attempt is current: no other attempt, cancellation
   * or completion of the job takes effect until it resolves. When it throws, nothing is recorded and `finish` throws
   * the same. It runs again when the caller repeats a failed commit. It occupies a connection, so it must end within
   * seconds.
   */
  readonly beforeCommit?: (locked: LockedJob) => Promise<void>;
}

/** The facts that `FinalState.beforeCommit` gets. */
export interface LockedJob {
  /**
   * Whether a stream of the same hash is played that this job's must not replace: one of a later intent, or another
   * than the one that a rollout saw (migration 0153). It stays true or false until the commit, under the hash's lock.
   */
  readonly hasNewerStream: boolean;
}

// The profile and the results may be large, and are not needed here.
const lock = `
  select id, type, hash, idempotency_key, profile ->> 'expires_after' as expires_after from jobs
  where id = $1 and attempt = $2 and status = any($3) for update`;
const newerStream = `
  select has_newer_stream(id, hash, intent_of(intent, created_at), replaces) as is_there from jobs where id = $1`;
const end = `
  update jobs set status = $2, results = $3, error = $4, progress = greatest(progress, $5), phase = null,
    callback_status = case when callback_url is not null and $2 <> 'cancelled' then 'pending' end,
    lease_owner = null, lease_expires_at = null, not_before = null, waiting_reason = null,
    finished_at = coalesce($6, statement_timestamp()), result_objects = $7, result_bytes = $8,
    tool_version = $9, source_ms = $10, output_ms = $11, ${endAssignments(12)}
  where id = $1
  returning ${shownColumns}`;
// The row is there: recording results has written it (migration 0100).
const setExpiry = `
  update media set expires_at = clock_timestamp() + $2 * interval '1 ms'
  where hash = $1 and expires_at is null and not expiry_is_set`;
const insertEvent = `
  insert into webhook_events (id, job_id, url, body, trace, next_attempt_at, created_at, is_additional)
  values ($1, $2, $3, $4, $5, $6, $6, $7)`;
const furtherReceivers = 'select url from job_callbacks where job_id = $1 order by id';

/** See `JobStore.finish`. */
export function finishJob(database: Database, final: FinalState): Promise<ShownJob | null> {
  return database.transaction(async (client) => {
    const guard = [final.jobId, final.attempt, statusesBefore(final.status)];
    const { rows: before } = await client.query<LockedRow>(lock, guard);
    if (before[0] === undefined) return null;
    const locked = final.beforeCommit === undefined ? null : await lockedJobOf(client, before[0]);
    if (locked !== null) await final.beforeCommit?.(locked);
    const time = mediaTimeOf(final.results);
    const ownProgress = final.status === 'completed' ? jobTypes[before[0].type].completedProgress : 0;
    const { rows } = await client.query<JobRow>(end, [
      final.jobId,
      final.status,
      toJson(final.results),
      toJson(final.error),
      final.progress ?? ownProgress,
      final.now ?? null,
      final.made?.objects ?? null,
      final.made?.bytes ?? null,
      final.made?.toolVersion ?? null,
      time?.sourceMs ?? 0,
      time?.outputMs ?? 0,
      ...endParameters({ result: final.status, code: final.error?.code, units: final.units }),
    ]);
    const job = jobOfRow(rows[0] as JobRow);
    const expiryMs = expiresAfterMs({ expires_after: before[0].expires_after ?? undefined });
    if (job.status === 'completed' && expiryMs !== null) await expireByDefault(client, job.hash, expiryMs);
    if (job.status === 'completed') {
      const ended = { ownKey: before[0].idempotency_key, hasNewerStream: locked?.hasNewerStream === true };
      await settleKeyOfCompleted(client, job, ended);
    }
    if (job.callbackUrl !== null && job.status !== 'cancelled') {
      await writeEvent(client, job, { id: final.eventId, url: job.callbackUrl, isAdditional: false });
      const { rows: further } = await client.query<{ url: string }>(furtherReceivers, [job.id]);
      for (const { url } of further) await writeEvent(client, job, { id: randomUUID(), url, isAdditional: true });
    }
    return job;
  });
}

/** Sets the expiry of a media that has none, unless a caller has decided so. */
export async function expireByDefault(client: PoolClient, hash: string, expiryMs: number): Promise<void> {
  await client.query(setExpiry, [hash, expiryMs]);
}

async function writeEvent(
  client: PoolClient,
  job: ShownJob,
  { id, url, isAdditional }: { readonly id: string; readonly url: string; readonly isAdditional: boolean },
): Promise<void> {
  const body = webhookBody(job, { eventId: id, occurredAt: job.finishedAt as Date });
  await client.query(insertEvent, [id, job.id, url, body, toJson(job.trace), job.finishedAt, isAdditional]);
}

type LockedRow = Pick<JobRow, 'id' | 'type' | 'hash'> & {
  readonly idempotency_key: string;
  readonly expires_after: string | null;
};

async function lockedJobOf(client: PoolClient, { id, hash }: LockedRow): Promise<LockedJob> {
  await client.query(lockHash, [hash]);
  const { rows } = await client.query<{ is_there: boolean }>(newerStream, [id]);
  return { hasNewerStream: rows[0]?.is_there === true };
}
