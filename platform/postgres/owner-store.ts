import type { Database } from './database.ts';
import { isUuid } from './uuid.ts';

const sql = {
  hashOfJob: 'select hash as found from jobs where id = $1',
  keyOfUpload: 'select key_id as found from uploads where id = $1',
  keyOfImport: 'select key_id as found from imports where id = $1',
  stored: `
    select source from uploads where id = any($1::uuid[]) and key_id = $2
    union all select source from imports where id = any($1::uuid[]) and key_id = $2`,
} as const;

/** Whose things are, for API keys that see only some. */
export class OwnerStore {
  readonly #database: Pick<Database, 'pool'>;

  constructor(database: Pick<Database, 'pool'>) {
    this.#database = database;
  }

  /** The hash of a job; null for none, also for text that is no UUID. */
  hashOfJob(id: string): Promise<string | null> {
    return this.#find(sql.hashOfJob, id);
  }

  /** The id of the API key that began an upload. */
  keyOfUpload(id: string): Promise<string | null> {
    return this.#find(sql.keyOfUpload, id);
  }

  /** The id of the API key that began an import. */
  keyOfImport(id: string): Promise<string | null> {
    return this.#find(sql.keyOfImport, id);
  }

  /** Those of `sources` that uploads and imports of a key stored; their keys have their ids (`uploadKey`). */
  async storedBy(keyId: string, sources: readonly string[]): Promise<ReadonlySet<string>> {
    const ids = sources.map((source) => source.split('/').at(-2) ?? '').filter(isUuid);
    if (ids.length === 0) return new Set();
    const { rows } = await this.#database.pool.query<{ source: string }>(sql.stored, [ids, keyId]);
    return new Set(rows.map(({ source }) => source));
  }

  async #find(text: string, id: string): Promise<string | null> {
    if (!isUuid(id)) return null;
    return (await this.#database.pool.query<{ found: string }>(text, [id])).rows[0]?.found ?? null;
  }
}
