import { KnownProblem } from '#domain/errors.ts';
import { type JobResults, type JobType, jobTypeNames } from '#domain/job-types/index.ts';
import { type JobStatus, jobStatuses } from '#domain/jobs/status.ts';
import type { MediaDeletion } from '#domain/library/deletion.ts';
import { type Description, type DescriptionChange, saysSomething } from '#domain/media/description.ts';
import type { Media } from '#domain/library/media.ts';
import type { Playback, PlaybackMode } from '#domain/media/playback.ts';
import type { Database } from './database.ts';
import { lockHash } from './deletion-fence.ts';
import { describeMedia, descriptionOf } from './descriptions.ts';
import { takeKeyOfPublished } from './equal-keys.ts';
import { decidePlayback, PlaybackStore } from './playback-store.ts';
import type { Purge } from './purge-events.ts';
import { currentDeletion, deletionOfRow, type DeletionRow } from './media-deletion-store.ts';

/** A job of a media. */
export interface JobOfMedia {
  readonly jobId: string;
  readonly type: JobType;
  readonly status: JobStatus;
  readonly createdAt: Date;
}

/** A job of a media whose objects are there. */
export interface MadeByJob extends JobOfMedia {
  readonly source: string;
  readonly sourceEtag: string | null;
  /** The name of its profile; null: `default`, or the type makes no stream. */
  readonly profile: string | null;
  /** The revision of its stream; null without one. */
  readonly streamRev: string | null;
  /** The version of the runner that made it; null: of a version that recorded none. */
  readonly toolVersion: string | null;
  /** Whether its stream is the one that is played. */
  readonly isCurrent: boolean;
  /** Null where it is not known. */
  readonly bytes: number | null;
  readonly objects: number | null;
  readonly results: JobResults;
}

/** All that is known of a media. */
export interface WholeMedia {
  readonly media: Media;
  readonly description: Description;
  readonly playback: Playback;
  readonly deletion: MediaDeletion | null;
  readonly kid: string | null;
  /** The newest first, at most `jobsMax`. */
  readonly jobs: readonly JobOfMedia[];
  /** The newest first, at most `madeMax`. */
  readonly made: readonly MadeByJob[];
}

/** A change of a media; what is undefined stays. */
export interface MediaChange extends DescriptionChange {
  readonly expiresAt?: Date | null;
  readonly legalHold?: boolean;
  readonly playback?: PlaybackMode;
  /** The purge of a media that becomes signed; null: no event is sent. */
  readonly purge?: Purge | null;
}

/** A stream to publish again. */
interface EarlierStream {
  readonly hash: string;
  readonly rev: string;
  /** The job whose stream it replaces, as of a rollback; by default whatever is played. */
  readonly replaces?: string;
  readonly publish: () => Promise<void>;
}

interface MediaRow {
  readonly hash: string;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly expires_at: Date | null;
  readonly legal_hold: boolean;
  readonly bytes: string;
  readonly objects: string;
}

interface JobOfMediaRow {
  readonly id: string;
  readonly type: JobType;
  readonly status: JobStatus;
  readonly created_at: Date;
}

interface MadeRow extends JobOfMediaRow {
  readonly source: string;
  readonly source_etag: string | null;
  readonly profile: string | null;
  readonly stream_rev: string | null;
  readonly tool_version: string | null;
  readonly is_current: boolean;
  readonly result_bytes: string | null;
  readonly result_objects: number | null;
  readonly results: JobResults;
}

const jobsMax = 100;
/** Each has results, which may be large. */
const madeMax = 50;

/** The columns of a media's row. */
export const mediaColumns = 'hash, created_at, updated_at, expires_at, legal_hold, bytes, objects';
const find = `select ${mediaColumns} from media where hash = $1`;
/** A short scan of the index jobs_of_hash for each type and status. */
const newestOf = (columns: string, condition: string, limit: number) => `
  select jobs.* from unnest($2::text[]) as wanted (wanted_type) cross join unnest($3::text[]) as also (wanted_status)
  cross join lateral (
    select ${columns} from jobs
    where hash = $1 and type = wanted_type and status = wanted_status and ${condition}
    order by created_at desc, id desc limit ${limit}
  ) as jobs order by created_at desc, id desc limit ${limit}`;
const jobs = newestOf('id, type, status, created_at', 'true', jobsMax);
const madeColumns = `
  id, type, status, created_at, source, source_etag, profile ->> 'name' as profile, stream_rev, tool_version,
  stream_rev is not null and replaced_at is null as is_current, result_bytes, result_objects, results`;
const made = newestOf(madeColumns, 'results is not null and not results_expired', madeMax);
const kid = 'select kid from content_keys where hash = $1';
const change = `
  insert into media (hash, expires_at, legal_hold, expiry_is_set)
  select $1, $3, coalesce($4, false), $2
  from (select from jobs where hash = $1 order by type, status, created_at desc limit 1) as known
  on conflict (hash) do update set updated_at = now(),
    expires_at = case when $2 then $3 else media.expires_at end,
    expiry_is_set = media.expiry_is_set or $2,
    legal_hold = coalesce($4, media.legal_hold)`;
const isKnown = `
  (select from jobs where hash = $1 order by type, status, created_at desc limit 1)
  union all (select from media_deletions where hash = $1 and lifted_at is null limit 1)`;
const isDeleted = 'select from media_deletions where hash = $1 and lifted_at is null';
const streamOf = `
  select id from jobs where hash = $1 and stream_rev = $2 and results is not null and not results_expired
  order by created_at desc limit 1 for update`;
const replaceOthers = `
  update jobs set replaced_at = clock_timestamp(), retention_after = null
  where hash = $1 and stream_rev is not null and replaced_at is null and id <> $2`;
const isCurrent = `
  select from jobs where hash = $1 and stream_rev is not null and replaced_at is null and id = $2`;
// A publication is an intent like a submission. A rollback takes the number of the
// rerun that it undoes, so that a submission which runs meanwhile is played once it has ended.
const makeCurrent = `
  update jobs set replaced_at = null, intent = case
    when $2::uuid is null then nextval('intents')
    else (select intent_of(intent, created_at) from jobs where id = $2) end
  where id = $1`;

/** Reads and writes media: their own rows, and what their jobs made. */
export class MediaStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Null for a hash of which there is neither a job nor a deletion. */
  async find(hash: string): Promise<WholeMedia | null> {
    const { pool } = this.#database;
    const [mediaRows, deletionRows, jobRows, madeRows, keyRows, playback, description] = await Promise.all([
      pool.query<MediaRow>(find, [hash]),
      pool.query<DeletionRow>(currentDeletion, [hash]),
      pool.query<JobOfMediaRow>(jobs, [hash, jobTypeNames, jobStatuses]),
      pool.query<MadeRow>(made, [hash, jobTypeNames, ['completed', 'failed']]),
      pool.query<{ kid: string }>(kid, [hash]),
      new PlaybackStore(this.#database).find(hash),
      descriptionOf(this.#database, hash),
    ]);
    const deletion = deletionRows.rows[0] === undefined ? null : deletionOfRow(deletionRows.rows[0]);
    const oldest = jobRows.rows.at(-1)?.created_at ?? deletion?.requestedAt;
    if (oldest === undefined) return null;
    return {
      media: mediaRows.rows[0] === undefined ? unmade(hash, oldest) : mediaOfRow(mediaRows.rows[0]),
      playback,
      description,
      deletion,
      kid: keyRows.rows[0]?.kid ?? null,
      jobs: jobRows.rows.map(jobOfMedia),
      made: madeRows.rows.map((row) => ({
        ...jobOfMedia(row),
        source: row.source,
        sourceEtag: row.source_etag,
        profile: row.profile,
        streamRev: row.stream_rev,
        toolVersion: row.tool_version,
        isCurrent: row.is_current,
        bytes: row.result_bytes === null ? null : Number(row.result_bytes),
        objects: row.result_objects,
        results: row.results,
      })),
    };
  }

  /** Whether there is a job of the hash, or its deletion: whether `find` finds something. */
  async isKnown(hash: string): Promise<boolean> {
    return (await this.#database.pool.query(isKnown, [hash])).rowCount !== 0;
  }

  /**
   * Changes expiry, hold, how it plays, title and metadata. False for a hash without a job.
   *
   * @throws KnownProblem `conflict` when it is deleted
   */
  change(hash: string, { expiresAt, legalHold, playback, purge = null, ...said }: MediaChange): Promise<boolean> {
    return this.#database.transaction(async (client) => {
      // A hold that is answered with 200 holds: the deletion asks under the same lock.
      await client.query(lockHash, [hash]);
      if ((await client.query(isDeleted, [hash])).rowCount !== 0)
        throw new KnownProblem('conflict', 'The media is deleted.');
      const parameters = [hash, expiresAt !== undefined, expiresAt ?? null, legalHold ?? null];
      if ((await client.query(change, parameters)).rowCount !== 1) return false;
      if (playback !== undefined) await decidePlayback(client, hash, { mode: playback, purge });
      if (saysSomething(said)) await describeMedia(client, hash, said);
      return true;
    });
  }

  /**
   * Makes an earlier stream of the media the one that is played. `publish` writes the top master playlist, under the
   * lock of the hash, so that no other stream becomes public meanwhile; it must end within seconds. When it throws,
   * nothing is recorded.
   *
   * @returns false when no job whose objects are there has the revision
   * @throws KnownProblem `conflict` for a deleted media, or one whose stream is not of the job `replaces`
   */
  publishEarlier({ hash, rev, replaces, publish }: EarlierStream): Promise<boolean> {
    return this.#database.transaction(async (client) => {
      await client.query(lockHash, [hash]);
      if ((await client.query(isDeleted, [hash])).rowCount !== 0)
        throw new KnownProblem('conflict', 'The media is deleted.');
      if (replaces !== undefined && (await client.query(isCurrent, [hash, replaces])).rowCount === 0)
        throw new KnownProblem('conflict', 'The media has another stream by now.');
      const { rows } = await client.query<{ id: string }>(streamOf, [hash, rev]);
      if (rows[0] === undefined) return false;
      await publish();
      await client.query(replaceOthers, [hash, rows[0].id]);
      await client.query(makeCurrent, [rows[0].id, replaces ?? null]);
      await takeKeyOfPublished(client, rows[0].id);
      return true;
    });
  }
}

function jobOfMedia({ id, type, status, created_at: createdAt }: JobOfMediaRow): JobOfMedia {
  return { jobId: id, type, status, createdAt };
}

/** The media of a row. */
export function mediaOfRow(row: MediaRow): Media {
  return {
    hash: row.hash,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    expiresAt: row.expires_at,
    legalHold: row.legal_hold,
    bytes: Number(row.bytes),
    objects: Number(row.objects),
  };
}

/** A media of which nothing is made yet. */
function unmade(hash: string, since: Date): Media {
  return { hash, createdAt: since, updatedAt: since, expiresAt: null, legalHold: false, bytes: 0, objects: 0 };
}
