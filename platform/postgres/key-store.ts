import type { ApiKey } from '#domain/keys/api-key.ts';
import type { Database } from './database.ts';
import { toJson } from './job-row.ts';

/** Where a named key was made: by the API, or by an entry of `API_KEYS_FILE`. */
export const keyOrigins = ['api', 'file'] as const;

/** A named key as administrators see it. */
export interface ListedKey extends ApiKey {
  readonly origin: (typeof keyOrigins)[number];
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  /** The hour of its last use. */
  readonly lastUsedAt: Date | null;
}

export interface NewKey extends ApiKey {
  readonly sha256: Buffer;
  readonly expiresAt: Date | null;
}

/** The outcome of the keys of a file, by their names. */
interface AppliedKeys {
  /** Another key, which was made by the API, has the name or the secret. */
  readonly refused: readonly string[];
  /** They have left the file, or have another secret there. */
  readonly revoked: readonly string[];
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
const columns = `${keyColumns}, origin, created_at as "createdAt", expires_at as "expiresAt", last_used_at as "lastUsedAt"`;
/** Whether the row of a key names an earlier hour than this one as the one of its last use. */
export const isUsedAgain = `(last_used_at is null or last_used_at < date_trunc('hour', now()))`;

const given = [
  'id, name, rights, hash_prefix, source_prefix, profiles, priority_max, sha256, expires_at',
  'weight, quotas',
].join(', ');

/** The values of `given`. */
function valuesOf(key: NewKey): unknown[] {
  const { id, name, rights, hashPrefix, sourcePrefix, profiles, priorityMax, sha256, expiresAt, weight } = key;
  const bounds = [hashPrefix, sourcePrefix, profiles, priorityMax];
  return [id, name, rights, ...bounds, sha256, expiresAt, weight, toJson(key.quotas)];
}

const sql = {
  find: `
    select ${keyColumns}, sha256, ${isUsedAgain} as "isUsedAgain" from api_keys
    where sha256 = any($1) and (expires_at is null or expires_at > now())`,
  list: `select ${columns} from api_keys where name collate "C" > $1 order by name collate "C" limit $2`,
  insert: `
    insert into api_keys (${given})
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
    on conflict do nothing returning ${columns}`,
  remove: `delete from api_keys where id = $1 and origin = 'api' returning ${columns}`,
  isOfFile: `select from api_keys where id = $1 and origin = 'file'`,
  // Readers go on: a look-up takes no lock that this one excludes.
  lock: 'lock table api_keys in share row exclusive mode',
  removeOthers: `
    delete from api_keys where origin = 'file' and not exists (
      select from unnest($1::text[], $2::bytea[]) as kept (name, sha256)
      where kept.name = api_keys.name and kept.sha256 = api_keys.sha256
    )
    returning name`,
  upsert: `
    insert into api_keys (${given}, origin)
    select $1::text, $2::text, $3::text[], $4::text, $5::text, $6::text[], $7::int, $8::bytea, $9::timestamptz,
      $10::int, $11::json, 'file'
    where not exists (
      select from api_keys where (name = $2 or sha256 = $8 or id = $1) and (origin = 'api' or sha256 <> $8)
    )
    on conflict (sha256) do update set (${given}) = row (
      excluded.id, excluded.name, excluded.rights, excluded.hash_prefix, excluded.source_prefix, excluded.profiles,
      excluded.priority_max, excluded.sha256, excluded.expires_at, excluded.weight, excluded.quotas)
    returning name`,
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
    return (await this.#database.pool.query<ListedKey>(sql.insert, valuesOf(key))).rows[0] ?? null;
  }

  /** Removes a key that was made by the API; null when there was none. */
  async remove(id: string): Promise<ListedKey | null> {
    return (await this.#database.pool.query<ListedKey>(sql.remove, [id])).rows[0] ?? null;
  }

  async isOfFile(id: string): Promise<boolean> {
    return (await this.#database.pool.query(sql.isOfFile, [id])).rows.length > 0;
  }

  /**
   * Makes the keys of the file what `keys` are; those that were made by the API stay. The lock orders two servers that
   * apply a file at once, and keys that are made meanwhile.
   */
  async applyFile(keys: readonly NewKey[]): Promise<AppliedKeys> {
    return await this.#database.transaction(async (client) => {
      await client.query(sql.lock);
      const kept = [keys.map(({ name }) => name), keys.map(({ sha256 }) => sha256)];
      const removed = await client.query<{ name: string }>(sql.removeOthers, kept);
      const refused: string[] = [];
      for (const key of keys) {
        const { rows } = await client.query(sql.upsert, valuesOf(key));
        if (rows.length === 0) refused.push(key.name);
      }
      return { refused, revoked: removed.rows.map(({ name }) => name) };
    });
  }

  /** Notes that a key is used in this hour. */
  async markUsed(id: string): Promise<void> {
    await this.#database.pool.query(sql.markUsed, [id]);
  }
}
