import type { ApiKey } from '#domain/keys/api-key.ts';
import type { Database } from './database.ts';
import { toJson } from './job-row.ts';

/** A named key as administrators see it. */
export interface ListedKey extends ApiKey {
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  /** The hour of its last use. */
  readonly lastUsedAt: Date | null;
}

export interface NewKey extends ApiKey {
  readonly sha256: Buffer;
  readonly expiresAt: Date | null;
}

/** A key that was looked up; `isUsedAgain`: its row names an earlier hour. */
export interface FoundKey {
  readonly sha256: Buffer;
  readonly key: ApiKey;
  readonly isUsedAgain: boolean;
}

/** The columns of an `ApiKey`. */
export const keyColumns = [
  'id, name, rights, hash_prefix as "hashPrefix", source_prefix as "sourcePrefix", profiles',
  'priority_max as "priorityMax", weight, quotas',
].join(', ');
const columns = `${keyColumns}, created_at as "createdAt", expires_at as "expiresAt", last_used_at as "lastUsedAt"`;
/** Whether the row of a key names an earlier hour than this one as the one of its last use. */
export const isUsedAgain = `(last_used_at is null or last_used_at < date_trunc('hour', now()))`;

const sql = {
  find: `
    select ${keyColumns}, sha256, ${isUsedAgain} as "isUsedAgain" from api_keys
    where sha256 = any($1) and (expires_at is null or expires_at > now())`,
  list: `select ${columns} from api_keys where name collate "C" > $1 order by name collate "C" limit $2`,
  insert: `
    insert into api_keys (id, name, rights, hash_prefix, source_prefix, profiles, priority_max, sha256, expires_at,
      weight, quotas)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
    on conflict do nothing returning ${columns}`,
  remove: `delete from api_keys where id = $1 returning ${columns}`,
  markUsed: `update api_keys set last_used_at = date_trunc('hour', now()) where id = $1 and ${isUsedAgain}`,
} as const;

/** The table `api_keys`. Whether a key has expired, the clock of the database decides. */
export class KeyStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The keys with these digests that have not expired. */
  async find(digests: readonly Buffer[]): Promise<FoundKey[]> {
    const { rows } = await this.#database.pool.query<ApiKey & Omit<FoundKey, 'key'>>(sql.find, [digests]);
    return rows.map(({ sha256, isUsedAgain: used, ...key }) => ({ sha256, key, isUsedAgain: used }));
  }

  /** At most `limit` keys after the name `after`, by name; the expired ones too. */
  async list({ after, limit }: { readonly after: string; readonly limit: number }): Promise<ListedKey[]> {
    return (await this.#database.pool.query<ListedKey>(sql.list, [after, limit])).rows;
  }

  /** Null when there is a key of that name. */
  async insert(key: NewKey): Promise<ListedKey | null> {
    const { id, name, rights, hashPrefix, sourcePrefix, profiles, priorityMax, sha256, expiresAt, weight } = key;
    const bounds = [hashPrefix, sourcePrefix, profiles, priorityMax];
    const values = [id, name, rights, ...bounds, sha256, expiresAt, weight, toJson(key.quotas)];
    return (await this.#database.pool.query<ListedKey>(sql.insert, values)).rows[0] ?? null;
  }

  /** Removes a key; null when there was none. */
  async remove(id: string): Promise<ListedKey | null> {
    return (await this.#database.pool.query<ListedKey>(sql.remove, [id])).rows[0] ?? null;
  }

  /** Notes that a key is used in this hour. */
  async markUsed(id: string): Promise<void> {
    await this.#database.pool.query(sql.markUsed, [id]);
  }
}
