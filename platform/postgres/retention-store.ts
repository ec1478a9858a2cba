import type { Database } from './database.ts';

/** A job whose stream replaced earlier ones of its hash. */
export interface SupersedingJob {
  readonly jobId: string;
  readonly hash: string;
}

/** An earlier job of the same hash with a stream; every attempt may have left a revision. */
export interface SupersededJob {
  readonly jobId: string;
  readonly attempt: number;
  /** The revision that its results name, which is that of no attempt where the stream is a film. */
  readonly rev: string | null;
}

const hasStream = (job: string) => `json_typeof(${job}.results -> 'streaming') = 'object'`;
// The webhook of a deleted job would be lost.
const deleteJobs = `
  with expired as (
    select id from jobs
    where swept_at is not null and finished_at < now() - $1 * interval '1 millisecond'
      and callback_status is distinct from 'pending'
    order by finished_at limit $2 for update skip locked
  )
  delete from jobs using expired where jobs.id = expired.id`;
// A claimed job is not claimed again for an hour: one whose objects cannot be removed delays no other.
const claim = `
  with due as (
    select id from jobs newer
    where swept_at is not null and earlier_removed_at is null and ${hasStream('newer')}
      and finished_at < now() - $1 * interval '1 millisecond' and (cleanup_after is null or cleanup_after <= now())
    order by finished_at limit $2 for update skip locked
  )
  update jobs set cleanup_after = now() + interval '1 hour' from due where jobs.id = due.id
  returning jobs.id, hash`;
const firstInit = `(earlier.results -> 'video_tracks' -> 0 ->> 'init')`;
const superseded = `
  select earlier.id, earlier.attempt, substring(${firstInit} from '/([0-9a-f]{16})/video/') as rev
  from jobs newer join jobs earlier on earlier.hash = newer.hash
  where newer.id = $1 and (earlier.created_at, earlier.id) < (newer.created_at, newer.id) and ${hasStream('earlier')}`;

/** What is older than the retention times; the times are the database's. */
export class RetentionStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Deletes cleaned-up jobs that ended more than `retentionMs` ago, with their webhook events; returns their number. */
  async deleteJobs({ retentionMs, limit }: { readonly retentionMs: number; readonly limit: number }): Promise<number> {
    const { rowCount } = await this.#database.pool.query(deleteJobs, [retentionMs, limit]);
    return rowCount ?? 0;
  }

  /** Takes jobs whose stream replaced earlier ones more than `retentionMs` ago, the longest ended first. */
  async claimSuperseding(options: { readonly retentionMs: number; readonly limit: number }): Promise<SupersedingJob[]> {
    const parameters = [options.retentionMs, options.limit];
    const { rows } = await this.#database.pool.query<{ id: string; hash: string }>(claim, parameters);
    return rows.map(({ id, hash }) => ({ jobId: id, hash }));
  }

  /** The earlier jobs with a stream of the same hash. */
  async supersededBy(jobId: string): Promise<SupersededJob[]> {
    const { rows } = await this.#database.pool.query<{ id: string; attempt: number; rev: string | null }>(superseded, [
      jobId,
    ]);
    return rows.map(({ id, attempt, rev }) => ({ jobId: id, attempt, rev }));
  }

  /** Notes that the revisions of the earlier jobs were removed. */
  async markEarlierRemoved(jobId: string): Promise<void> {
    await this.#database.pool.query('update jobs set earlier_removed_at = now() where id = $1', [jobId]);
  }
}
