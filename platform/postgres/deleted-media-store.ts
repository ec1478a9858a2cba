import type { Database } from './database.ts';

/** More are found one by one, once their objects are missing. */
const rememberedMax = 100_000;

const recent = `
  select hash from media_deletions
  where lifted_at is null and coalesce(finished_at, 'infinity') > now() - interval '1 hour'
  order by coalesce(finished_at, 'infinity') desc limit ${rememberedMax}`;
const isDeleted = `
  select exists (select from media_deletions where hash = $1 and lifted_at is null) as is_deleted`;

/** What delivery asks about deletions; it writes nothing. */
export class DeletedMediaStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Media that are being deleted, or were within the last hour. */
  async recent(): Promise<readonly string[]> {
    const { rows } = await this.#database.pool.query<{ hash: string }>(recent);
    return rows.map(({ hash }) => hash);
  }

  /** Whether the media was deleted, and nothing was made under its hash since. */
  async isDeleted(hash: string): Promise<boolean> {
    const { rows } = await this.#database.pool.query<{ is_deleted: boolean }>(isDeleted, [hash]);
    return rows[0]?.is_deleted === true;
  }
}
