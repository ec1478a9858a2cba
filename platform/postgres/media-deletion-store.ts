import { KnownProblem } from '#domain/errors.ts';
import type { DeletionReason, DeletionReceipt, MediaDeletion } from '#domain/library/deletion.ts';
import { type JobType, jobTypeNames } from '#domain/job-types/index.ts';
import { activeStatuses, jobStatuses } from '#domain/jobs/status.ts';
import type { PoolClient } from 'pg';
import type { Database } from './database.ts';
import { lockHash } from './deletion-fence.ts';
import { forgetDescription } from './descriptions.ts';
import { claimDue, claimText, deferText, keysText, notLocked } from './due-work.ts';
import { toJson } from './job-row.ts';
import { withdrawDeleted } from './playback-store.ts';
import { insertPurgeEvent, type Purge } from './purge-events.ts';
import { lockedInOrder } from './row-locks.ts';

/** A row of `media_deletions` as the driver gives it. */
export interface DeletionRow {
  readonly id: string;
  readonly hash: string;
  readonly reason: DeletionReason;
  readonly requested_at: Date;
  readonly kid: string | null;
  readonly objects: string | null;
  readonly bytes: string | null;
  readonly objects_sha256: string | null;
  readonly objects_deleted: string;
  readonly finished_at: Date | null;
  readonly receipt: DeletionReceipt | null;
}

/** The columns of a `DeletionRow`. */
const deletionColumns = [
  'id, hash, reason, requested_at, kid, objects, bytes, objects_sha256, objects_deleted, finished_at, receipt',
].join();

/** A deletion that is to be worked on. */
export interface DueDeletion extends MediaDeletion {
  /** For how long the last of the media's jobs has ended, by the database's clock; 0 while one runs. */
  readonly quietMs: number;
}

/** A job that may have working objects. */
export interface UnsweptJob {
  readonly id: string;
  readonly type: JobType;
  /** The revisions of its chunked encodes; null: not noted yet. */
  readonly chunkedRevs: readonly string[] | null;
}

interface NewDeletion {
  /** UUID. */
  readonly id: string;
  readonly hash: string;
  readonly reason: DeletionReason;
  /** Null: no event is sent. */
  readonly purge: Purge | null;
  /** The API key of the request. */
  readonly keyId?: string | undefined;
}

/** The deletion of a hash that no new media has lifted. */
export const currentDeletion = `select ${deletionColumns} from media_deletions where hash = $1 and lifted_at is null`;
const isHeld = 'select legal_hold from media where hash = $1';
const isExpired = 'select from media where hash = $1 and expires_at <= clock_timestamp()';
// A short scan of the index jobs_of_hash for each type and status. A row has the time at which its transaction began: of
// one that came late, the end of the deletion knows nothing.
const isCovering = `
  select not exists (select from content_keys where hash = $1) and not (
    $5 and exists (select from jobs where hash = $1 and swept_at is null and finished_at is null)
  ) and not exists (
    select from unnest($3::text[]) as wanted (wanted_type) cross join unnest($4::text[]) as also (wanted_status)
    cross join lateral (
      select from jobs where hash = $1 and type = wanted_type and status = wanted_status and created_at > $2
        and swept_at is null limit 1
    ) as later
  ) as is_so`;
// In the order of an index, so that it is read however many jobs the hash has.
const isKnown = 'select from jobs where hash = $1 order by type, status, created_at desc limit 1';
const destroyKey = 'delete from content_keys where hash = $1 returning kid';
const forgetOrphan = 'delete from media where hash = $1 and not exists (select from jobs where jobs.hash = media.hash)';
// The clock's time, since the transaction began before it waited for the lock.
const insert = `
  insert into media_deletions (id, hash, reason, kid, key_id, requested_at, due_at)
  values ($1, $2, $3, $4, $5, clock_timestamp(), clock_timestamp()) returning ${deletionColumns}`;
const repeat = `
  update media_deletions set requested_at = clock_timestamp(), kid = coalesce(kid, $2) where id = $1
  returning ${deletionColumns}`;
const lift = 'update media_deletions set lifted_at = clock_timestamp() where id = $1 and lifted_at is null';
const claim = claimText('media_deletion', {
  returning: `${deletionColumns}, (
    select extract(epoch from now() - greatest(max(jobs.finished_at), media_deletions.requested_at)) * 1000
    from jobs where jobs.hash = media_deletions.hash and swept_at is null
      and created_at <= media_deletions.requested_at
  )::float8 as quiet_ms`,
});
const later = deferText('media_deletion');
// Claimed ones as well: a job that was submitted before the deletion became visible may have begun.
const active = `
  select jobs.id from jobs join media_deletions on media_deletions.id = $1 and media_deletions.hash = jobs.hash
  where swept_at is null and jobs.finished_at is null and status = any($2)
    and (created_at <= requested_at or lease_owner is not null) and media_deletions.finished_at is null
  limit 1000`;
const unswept = `
  select id, type, chunked_revs as "chunkedRevs" from jobs
  where hash = $1 and swept_at is null and id > $2::uuid order by id limit 1000`;
const noteChunked = `
  update jobs set chunked_revs = string_to_array(revs, ' ')
  from unnest($1::uuid[], $2::text[]) as noted (job_id, revs)
  where id = job_id and ${lockedInOrder('jobs', 'id = any($1)')}`;
const listed = `
  update media_deletions set objects = $2, bytes = $3, objects_sha256 = $4 where id = $1 and objects is null`;
const count = 'update media_deletions set objects_deleted = objects_deleted + $2 where id = $1 and finished_at is null';
// Results of a new media come after the end of the deletion, which a process that was frozen does not know of.
const forgetResults = `
  with forgotten as (
    select jobs.id from jobs join media_deletions on media_deletions.id = $2 and media_deletions.finished_at is null
    where jobs.hash = $1
      and (results is not null or ((title is not null or metadata is not null) and created_at <= requested_at))
    limit 500
  ), page as (
    select jobs.id, results is not null as has_results from jobs where id in (select id from forgotten)
    order by id for no key update
  )
  update jobs set results = null, results_expired = results_expired or has_results, stream_rev = null,
    title = null, metadata = null,
    idempotency_key = case when has_results then 'expired ' || jobs.id else idempotency_key end
  from page where jobs.id = page.id`;
const finish = `
  update media_deletions set finished_at = clock_timestamp(), objects_deleted = greatest(objects_deleted, objects)
  where id = $1 and finished_at is null and objects is not null and not exists (
    select from jobs where jobs.hash = media_deletions.hash and swept_at is null and jobs.finished_at is null
      and created_at <= requested_at)
  returning ${deletionColumns}`;
const writeReceipt = 'update media_deletions set receipt = $2 where id = $1';
const forgetMedia = 'delete from media where hash = $1';
// Jobs that waited for the end of the deletion: the sweeper adds their tickets in its next round.
const hasWaited = `
  hash = $1 and swept_at is null and finished_at is null and status = any($2) and lease_owner is null
  and not_before is distinct from 'infinity'`;
const release = `update jobs set ticketed_at = '-infinity' where ${lockedInOrder('jobs', hasWaited)}`;
const expired = keysText('media_expiry');
const forgetReceipts = `
  with old as (
    select id, hash from media_deletions where finished_at < now() - $1 * interval '1 millisecond' limit 1000
    ${notLocked}
  ), forgotten as (
    delete from playbacks using old where playbacks.hash = old.hash
      and not exists (select from media where media.hash = old.hash)
      and not exists (select from jobs where jobs.hash = old.hash)
  )
  delete from media_deletions using old where media_deletions.id = old.id`;

/** Deletions of media; a row lives from the request on, and proves the deletion after it. */
export class MediaDeletionStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Begins a deletion: from its commit on, no job of the hash begins, its content key is deleted, and delivery answers
   * 410 within seconds. An earlier one that no new media has lifted is returned instead where it covers all that was
   * accepted since; else one that runs is made to, and one that has ended is followed by the new one. Null for a hash
   * without a job, and for `expiry` of a media whose time was moved meanwhile.
   *
   * @throws KnownProblem `conflict` under a legal hold
   */
  begin({ id, hash, reason, purge, keyId }: NewDeletion): Promise<{ deletion: MediaDeletion; isNew: boolean } | null> {
    return this.#database.transaction(async (client) => {
      await client.query(lockHash, [hash]);
      const { rows: before } = await client.query<DeletionRow>(currentDeletion, [hash]);
      if (before[0] !== undefined && (reason === 'expiry' || (await covers(client, before[0]))))
        return { deletion: deletionOfRow(before[0]), isNew: false };
      if (before[0]?.finished_at === null) {
        const { rows: made } = await client.query<{ kid: string }>(destroyKey, [hash]);
        const { rows } = await client.query<DeletionRow>(repeat, [before[0].id, made[0]?.kid ?? null]);
        await forgetDescription(client, hash, before[0].id);
        await withdrawDeleted(client, hash);
        return { deletion: deletionOfRow(rows[0] as DeletionRow), isNew: false };
      }
      if (reason === 'expiry' && (await client.query(isExpired, [hash])).rowCount === 0) return null;
      const { rows: held } = await client.query<{ legal_hold: boolean }>(isHeld, [hash]);
      if (held[0]?.legal_hold === true)
        throw new KnownProblem('conflict', 'The media is under a legal hold; PATCH {"legal_hold": false} ends it.');
      if (before[0] !== undefined) await client.query(lift, [before[0].id]);
      else if ((await client.query(isKnown, [hash])).rowCount === 0) return null;
      const { rows: keys } = await client.query<{ kid: string }>(destroyKey, [hash]);
      const { rows } = await client.query<DeletionRow>(insert, [id, hash, reason, keys[0]?.kid ?? null, keyId ?? null]);
      const deletion = deletionOfRow(rows[0] as DeletionRow);
      await forgetDescription(client, hash, id);
      await withdrawDeleted(client, hash);
      await insertPurgeEvent(client, purge, { hash, occurredAt: deletion.requestedAt });
      return { deletion, isNew: true };
    });
  }

  /** The deletion of a hash that no new media has lifted; null without one. */
  async find(hash: string): Promise<MediaDeletion | null> {
    const { rows } = await this.#database.pool.query<DeletionRow>(currentDeletion, [hash]);
    return rows[0] === undefined ? null : deletionOfRow(rows[0]);
  }

  /** Takes the deletions that have been due for longest; no other call gets them for ten minutes. */
  async claim(limit: number): Promise<DueDeletion[]> {
    const rows = await claimDue<DeletionRow & { quiet_ms: number }>(this.#database, claim, { limit });
    return rows.map((row) => ({ ...deletionOfRow(row), quietMs: row.quiet_ms }));
  }

  /** Leaves a claimed deletion for `delayMs`. */
  async defer(id: string, delayMs: number): Promise<void> {
    await this.#database.pool.query(later, [id, delayMs]);
  }

  /** Jobs that must end before objects are removed, at most 1000; none of a deletion that has ended. */
  async activeJobs(id: string): Promise<string[]> {
    const { rows } = await this.#database.pool.query<{ id: string }>(active, [id, activeStatuses]);
    return rows.map((row) => row.id);
  }

  /** Jobs of the hash that may have working objects, after `afterId`, at most 1000. */
  async unsweptJobs(hash: string, afterId = '00000000-0000-0000-0000-000000000000'): Promise<UnsweptJob[]> {
    const { rows } = await this.#database.pool.query<UnsweptJob>(unswept, [hash, afterId]);
    return rows;
  }

  /** Notes the revisions of the chunked encodes of jobs: cleanup finds them when their documents are gone. */
  async noteChunked(jobs: readonly { readonly id: string; readonly revs: readonly string[] }[]): Promise<void> {
    const parameters = [jobs.map(({ id }) => id), jobs.map(({ revs }) => revs.join(' '))];
    await this.#database.pool.query(noteChunked, parameters);
  }

  /** Records which objects were there; the first record counts. */
  async recordObjects(
    id: string,
    { objects, bytes, sha256 }: { readonly objects: number; readonly bytes: number; readonly sha256: string },
  ): Promise<void> {
    await this.#database.pool.query(listed, [id, objects, bytes, sha256]);
  }

  /** Counts objects that were removed. */
  async countDeleted(id: string, objects: number): Promise<void> {
    await this.#database.pool.query(count, [id, objects]);
  }

  /**
   * Ends a deletion whose objects are removed: the results, titles and metadata of the media's jobs are forgotten, its
   * row and a key that an attempt made meanwhile are deleted, and jobs that were submitted meanwhile may begin. Null, and nothing is changed,
   * when it has ended already, or while a job that it covers has not.
   */
  async finish(
    { id, hash }: Pick<MediaDeletion, 'id' | 'hash'>,
    receiptOf: (ended: MediaDeletion) => DeletionReceipt,
  ): Promise<MediaDeletion | null> {
    while (((await this.#database.pool.query(forgetResults, [hash, id])).rowCount ?? 0) > 0);
    return this.#database.transaction(async (client) => {
      await client.query(lockHash, [hash]);
      const { rows } = await client.query<DeletionRow>(finish, [id]);
      if (rows[0] === undefined) return null;
      await client.query(destroyKey, [hash]);
      const ended = deletionOfRow(rows[0]);
      const receipt = receiptOf(ended);
      await client.query(writeReceipt, [id, toJson(receipt)]);
      await client.query(forgetMedia, [hash]);
      await client.query(release, [hash, activeStatuses]);
      await forgetDescription(client, hash, id);
      return { ...ended, receipt };
    });
  }

  /** Media whose time has come, the longest overdue first. */
  async expired(limit: number): Promise<string[]> {
    const rows = await claimDue<{ due_key: string }>(this.#database, expired, { limit });
    return rows.map((row) => row.due_key);
  }

  /** Deletes the row of a media without jobs, which two deletions of its last jobs at once leave. */
  async forgetOrphan(hash: string): Promise<void> {
    await this.#database.pool.query(forgetOrphan, [hash]);
  }

  /** Deletes rows of deletions that ended longer ago, at most 1000; returns their number. */
  async forgetReceipts(retentionMs: number): Promise<number> {
    return (await this.#database.pool.query(forgetReceipts, [retentionMs])).rowCount ?? 0;
  }
}

/** Whether a deletion covers all that is there: no later job may have made something, and there is no key. */
async function covers(client: PoolClient, deletion: DeletionRow): Promise<boolean> {
  const { hash, requested_at: requestedAt, finished_at: finishedAt } = deletion;
  const parameters = [hash, requestedAt, jobTypeNames, jobStatuses, finishedAt !== null];
  const { rows } = await client.query<{ is_so: boolean }>(isCovering, parameters);
  return rows[0]?.is_so === true;
}

/** The deletion of a row. */
export function deletionOfRow(row: DeletionRow): MediaDeletion {
  return {
    id: row.id,
    hash: row.hash,
    reason: row.reason,
    requestedAt: row.requested_at,
    kid: row.kid,
    objects: row.objects === null ? null : Number(row.objects),
    bytes: row.bytes === null ? null : Number(row.bytes),
    objectsSha256: row.objects_sha256,
    objectsDeleted: Number(row.objects_deleted),
    finishedAt: row.finished_at,
    receipt: row.receipt,
  };
}
