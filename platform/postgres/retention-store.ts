import type { JobType } from '#domain/job-types/index.ts';
import type { Database } from './database.ts';
import { unfinishedMax } from './deletion-fence.ts';
import { claimDue, claimText, notLocked } from './due-work.ts';
import { lockedInOrder } from './row-locks.ts';

/** A job whose objects are older than a retention time. */
export interface ExpiredJob {
  readonly jobId: string;
  readonly type: JobType;
  readonly hash: string;
  /** Its last attempt, from 1; every attempt may have left a revision. */
  readonly attempt: number;
  /** The revision of its stream, which chunked encodes share and no attempt has; null: none. */
  readonly streamRev: string | null;
}

/** One of them that is to be deleted, if it can be. */
export interface OldJob extends ExpiredJob {
  /** False for a job that must stay for now; else its row says that its results have expired. */
  readonly isExpired: boolean;
}

interface Page {
  readonly retentionMs: number;
  readonly limit: number;
}

const returned = `id as "jobId", type, hash, attempt, stream_rev as "streamRev"`;
const claimReplaced = claimText('revision_retention', { returning: returned });
// The webhook of a deleted job would be lost, and a job of the hash that has an earlier intent and has not ended must
// learn of the stream. A job that expires gives its idempotency key up, so an equal request makes a new job. It counts
// less for its media (the trigger jobs_media), whose rows are all locked before: to count them reads every one.
const claimOld = claimText('job_retention', {
  decided: {
    columns:
      'hash as due_hash, stream_rev as due_rev, intent_of(intent, created_at) as number, callback_status as sent',
    query: `
      with unfinished as (
        select due_hash, count(*) > ${unfinishedMax} as are_many, min(of_hash.number) as oldest
        from (select distinct due_hash from due where due_rev is not null) as hashes cross join lateral (
          select intent_of(intent, created_at) as number from jobs
          where hash = due_hash and swept_at is null and finished_at is null limit ${unfinishedMax + 1}
        ) as of_hash group by due_hash
      ), owners as (
        select hash, legal_hold from media where hash in (select due_hash from due) order by hash for no key update
      )
      select due_key, sent is distinct from 'pending'
        and not exists (
          select from webhook_events where job_id = due_key and is_additional and next_attempt_at is not null)
        and (select count(*) from owners where owners.hash = due_hash and legal_hold) = 0
        and (due_rev is null or coalesce(not are_many and oldest >= number, true)) as is_expired
      from due left join unfinished using (due_hash)`,
  },
  set: `results_expired = results_expired or is_expired,
    idempotency_key = case when is_expired then 'expired ' || id else idempotency_key end`,
  returning: `${returned}, is_expired as "isExpired"`,
});
const markRevisions = `update jobs set revision_deleted_at = now() where ${lockedInOrder('jobs', 'id = any($1)')}`;
// A webhook that is sent again has its event's row, then its job's.
const lockEvents = `select from webhook_events where job_id = any($1) order by id for update`;
const lockJobs = `select from jobs where id = any($1) order by id for update`;
// A hold that began since the claim keeps the objects, so their results have not expired after all.
const deleteJobs = `
  with kept as (
    update jobs set results_expired = false
    where id = any($1) and results is not null and revision_deleted_at is null
      and exists (select from media where media.hash = jobs.hash and legal_hold)
  )
  delete from jobs where id = any($1) and finished_at is not null and callback_status is distinct from 'pending'
    and not exists (select from webhook_events where job_id = jobs.id and is_additional and next_attempt_at is not null)
    and not exists (select from media where media.hash = jobs.hash and legal_hold)`;
// A day is over before its time begins. The index playback_days_by_day.
const deletePlaybackDays = `
  delete from playback_days where (hash, day) in (
    select hash, day from playback_days
    where day < ((now() - $1 * interval '1 millisecond') at time zone 'UTC')::date order by day limit $2
    ${notLocked}
  )`;

/** Finds and deletes what is older than the retention times, by the clock of the database. */
export class RetentionStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Takes jobs whose stream a later one replaced more than `retentionMs` ago, the longest replaced first. */
  claimReplaced({ retentionMs, limit }: Page): Promise<ExpiredJob[]> {
    return claimDue<ExpiredJob>(this.#database, claimReplaced, { limit, delayMs: retentionMs });
  }

  /** Takes cleaned-up jobs that ended more than `retentionMs` ago, the longest ended first. */
  claimOld({ retentionMs, limit }: Page): Promise<OldJob[]> {
    return claimDue<OldJob>(this.#database, claimOld, { limit, delayMs: retentionMs });
  }

  /** Notes that the objects of the jobs' replaced streams are deleted. */
  async markRevisionsDeleted(jobIds: readonly string[]): Promise<void> {
    await this.#database.pool.query(markRevisions, [jobIds]);
  }

  /**
   * Deletes jobs with their webhook events, but those with an event that is to be delivered, and those that a legal
   * hold keeps: their results have not expired.
   */
  async deleteJobs(jobIds: readonly string[]): Promise<void> {
    await this.#database.transaction(async (client) => {
      for (const text of [lockEvents, lockJobs, deleteJobs]) await client.query(text, [jobIds]);
    });
  }

  /** Deletes at most `limit` digests of playback of days that ended more than `retentionMs` ago; how many. */
  async deletePlaybackDays({ retentionMs, limit }: Page): Promise<number> {
    return (await this.#database.pool.query(deletePlaybackDays, [retentionMs, limit])).rowCount ?? 0;
  }
}
