import type { Database } from './database.ts';

const recent = `
  select hash from media_deletions
  where lifted_at is null and coalesce(finished_at, 'infinity') > now() - interval '1 hour'
  order by coalesce(finished_at, 'infinity') desc limit $1`;
// A transaction shows its rows when it ends: after a statement of 10 s at most, and as long as a frozen process may be
// idle in it, which is a minute (openDatabase).
const changed = `
  select hash, bool_or(lifted_at is null) as is_deleted from (
    select hash, lifted_at from media_deletions where requested_at > now() - interval '75 seconds'
    union all
    select hash, lifted_at from media_deletions where lifted_at > now() - interval '75 seconds'
  ) as deletions
  group by hash limit $1`;
const isDeleted = `
  select exists (select from media_deletions where hash = $1 and lifted_at is null) as is_deleted`;

/** Answers what delivery asks about deletions; it writes nothing. */
export class DeletedMediaStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Hashes of media that are being deleted, or were within the last hour; `max` of them where there are more. */
  async recent(max: number): Promise<readonly string[]> {
    const { rows } = await this.#database.pool.query<{ hash: string }>(recent, [max]);
    return rows.map(({ hash }) => hash);
  }

  /** Media that were deleted or made again within the last 75 seconds; `max` of them where there are more. */
  async changed(max: number): Promise<readonly { readonly hash: string; readonly isDeleted: boolean }[]> {
    const { rows } = await this.#database.pool.query<{ hash: string; is_deleted: boolean }>(changed, [max]);
    return rows.map((row) => ({ hash: row.hash, isDeleted: row.is_deleted }));
  }

  /** Whether the media was deleted, and nothing was made under its hash since. */
  async isDeleted(hash: string): Promise<boolean> {
    const { rows } = await this.#database.pool.query<{ is_deleted: boolean }>(isDeleted, [hash]);
    return rows[0]?.is_deleted === true;
  }
}
