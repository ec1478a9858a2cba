import { type Import, type ImportErrorCode, statusesBefore, withoutQuery } from '#domain/imports/import.ts';
import type { WaitingKey } from '#domain/jobs/turns.ts';
import type { Database } from './database.ts';
import { dueRowsOf } from './due-kinds.ts';
import { claimDue, claimText } from './due-work.ts';
import { lockedInOrder } from './row-locks.ts';
import { isUuid } from './uuid.ts';

/** An import to insert. */
export type NewImport = Pick<Import, 'id' | 'keyId' | 'url' | 'name' | 'source' | 'sha256' | 'partSizeBytes'> &
  Partial<Pick<Import, 'title'>>;

/** Where a page of the list begins: after this import, which is the last of the page before. */
export type ImportCursor = Pick<Import, 'id' | 'createdAt'>;

interface ImportPage {
  readonly after: ImportCursor | null;
  readonly limit: number;
  /** Only those that this API key began. */
  readonly keyId?: string | null;
}

/** The stored file of an ended import, which is to be removed. */
export type EndedImport = Pick<Import, 'id' | 'source' | 'multipartId' | 'errorCode'>;

/** The right of one attempt to an import. */
export interface ImportLease {
  /** The import. */
  readonly id: string;
  /** UUID of the attempt. */
  readonly owner: string;
}

/** An import that an attempt has taken. `isLate`: by the clock of the database its time had passed. */
export type ClaimedImport = Import & ImportLease & { readonly isLate: boolean };

/** The facts of a file in the first answer of its server. */
export interface FoundFile extends Pick<Import, 'sizeBytes' | 'contentType' | 'validator'> {
  readonly multipartId: string;
  /** From the first answer on. */
  readonly transferMsMax: number;
}

/** A key that has imports that are due, and how many. */
export type DueKey = WaitingKey & { readonly rows: number };

const openStatuses = `imports.${dueRowsOf.import.where}`;
const columns = [
  'id, key_id as "keyId", url, name, source, sha256, title, status, stored_bytes::float8 as "storedBytes"',
  'size_bytes::float8 as "sizeBytes", part_size_bytes::float8 as "partSizeBytes", content_type as "contentType"',
  'validator, multipart_id as "multipartId", etag, error_code as "errorCode", http_status as "httpStatus", failures',
  'created_at as "createdAt", deadline_at as "deadlineAt", ended_at as "endedAt"',
].join(', ');

const sql = {
  insert: `
    insert into imports (id, key_id, url, name, source, sha256, part_size_bytes, deadline_at, title)
    select $1, $2, $3, $4, $5, $6, $7, now() + $8 * interval '1 ms', $10
    where (select count(*) from imports where key_id = $2 and status in ('queued', 'running')) < $9
    returning ${columns}`,
  newest: `select ${columns} from imports order by created_at desc, id desc limit $1`,
  newestAfter: `
    select ${columns} from imports where (created_at, id) < ($2, $3::uuid)
    order by created_at desc, id desc limit $1`,
  newestOfKey: `
    select ${columns} from imports
    where key_id = $4 and ($2::timestamptz is null or (created_at, id) < ($2, $3::uuid))
    order by created_at desc, id desc limit $1`,
  cancel: `
    update imports set status = 'cancelled', ended_at = now(), url = $3,
      due_at = case when lease_owner is null then now() else due_at end
    where id = $1 and status = any($2)`,
  claim: claimText('import', {
    fairBy: 'key_id',
    set: `status = 'running', lease_owner = gen_random_uuid()`,
    returning: `lease_owner as owner, deadline_at <= now() as "isLate", ${columns}`,
  }),
  dueKeys: `
    select key_id as key, count(*)::int as rows, coalesce(max(weight), 1) as weight, false as "isBackground"
    from imports left join api_keys on api_keys.id = key_id
    where ${openStatuses} and due_at <= now() group by key_id`,
  renew: `
    update imports set due_at = now() + $3 * interval '1 ms'
    where id = $1 and lease_owner = $2 and status = 'running'
    returning deadline_at <= now() as "isLate"`,
  found: `
    update imports set multipart_id = $3, size_bytes = $4, content_type = $5, validator = $6, stored_bytes = 0,
      deadline_at = case when multipart_id is null then now() + $7 * interval '1 ms' else deadline_at end
    where id = $1 and lease_owner = $2 and status = 'running'`,
  progress: `
    update imports set stored_bytes = $3, stored_bytes_max = greatest(stored_bytes_max, $3),
      failures = case when $3 > stored_bytes_max then 0 else failures end
    where id = $1 and lease_owner = $2 and status = 'running'`,
  release: `
    update imports set lease_owner = null, due_at = now() + $3 * interval '1 ms', failures = failures + $4
    where id = $1 and lease_owner = $2`,
  complete: `
    update imports set status = 'completed', ended_at = now(), url = $4, etag = $5, stored_bytes = $6, size_bytes = $6,
      sha256 = coalesce($7, sha256), lease_owner = null
    where id = $1 and lease_owner = $2 and status = any($3)`,
  fail: `
    update imports set status = 'failed', ended_at = now(), due_at = now(), url = $4, error_code = $5,
      http_status = $6, lease_owner = null
    where id = $1 and lease_owner = $2 and status = any($3)`,
  claimToCleanUp: claimText('import_removal', {
    returning: 'id, source, multipart_id as "multipartId", error_code as "errorCode"',
  }),
  cleanedUp: `
    update imports set cleaned_up_at = case when lease_owner is null then now() end, lease_owner = null,
      due_at = case when lease_owner is null then due_at else now() + interval '1 hour' end
    where ${lockedInOrder('imports', 'id = any($1)')}`,
};

/**
 * The table `imports`. What an attempt writes is guarded by its lease, so that one that has lost it changes nothing.
 */
export class ImportStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Inserts an import; null when its API key has `openMax` open ones already. */
  async insert(
    given: NewImport,
    limits: { readonly openMax: number; readonly waitMsMax: number },
  ): Promise<Import | null> {
    const { id, keyId, url, name, source, sha256, partSizeBytes, title = null } = given;
    return this.#database.transaction(async (client) => {
      // One at a time for each key, or two requests at once would both see the last free place.
      await client.query('select pg_advisory_xact_lock(hashtextextended($1, 130))', [keyId]);
      const values = [id, keyId, url, name, source, sha256, partSizeBytes, limits.waitMsMax, limits.openMax, title];
      return (await client.query<Import>(sql.insert, values)).rows[0] ?? null;
    });
  }

  /** Null also for text that is no UUID. */
  async find(id: string): Promise<Import | null> {
    if (!isUuid(id)) return null;
    const { rows } = await this.#database.pool.query<Import>(`select ${columns} from imports where id = $1`, [id]);
    return rows[0] ?? null;
  }

  /** A page of imports, the newest first. */
  async list({ after, limit, keyId = null }: ImportPage): Promise<Import[]> {
    const { pool } = this.#database;
    if (keyId !== null)
      return (await pool.query<Import>(sql.newestOfKey, [limit, after?.createdAt ?? null, after?.id ?? null, keyId]))
        .rows;
    if (after === null) return (await pool.query<Import>(sql.newest, [limit])).rows;
    return (await pool.query<Import>(sql.newestAfter, [limit, after.createdAt, after.id])).rows;
  }

  /** Cancels an open import; whether it was open. */
  async cancel({ id, url }: Pick<Import, 'id' | 'url'>): Promise<boolean> {
    return this.#change(sql.cancel, [id, statusesBefore('cancelled'), withoutQuery(url)]);
  }

  /** The keys whose imports are due, and how many each has. */
  async dueKeys(): Promise<DueKey[]> {
    return (await this.#database.pool.query<DueKey>(sql.dueKeys)).rows;
  }

  /** Takes of each of these keys up to so many imports that are due, for `leaseMs`. */
  claim(wanted: ReadonlyMap<string, number>, leaseMs: number): Promise<ClaimedImport[]> {
    const [keys, rows] = [[...wanted.keys()], [...wanted.values()]];
    const limit = rows.reduce((sum, each) => sum + each, 0);
    return claimDue<ClaimedImport>(this.#database, sql.claim, { limit }, keys, rows, leaseMs);
  }

  /** Renews the lease, if it is still this attempt's. */
  async renew({ id, owner }: ImportLease, leaseMs: number): Promise<'held' | 'late' | 'lost'> {
    const { rows } = await this.#database.pool.query<{ isLate: boolean }>(sql.renew, [id, owner, leaseMs]);
    if (rows[0] === undefined) return 'lost';
    return rows[0].isLate ? 'late' : 'held';
  }

  /** Notes the file and the store's name for its parts; nothing of it is stored yet. */
  async noteFile({ id, owner }: ImportLease, file: FoundFile): Promise<boolean> {
    const { multipartId, sizeBytes, contentType, validator, transferMsMax } = file;
    return this.#change(sql.found, [id, owner, multipartId, sizeBytes, contentType, validator, transferMsMax]);
  }

  /** Notes how much is stored; where it is more than ever before, failures count from 0 again. */
  async noteProgress({ id, owner }: ImportLease, storedBytes: number): Promise<boolean> {
    return this.#change(sql.progress, [id, owner, storedBytes]);
  }

  /** Ends an attempt: another one may begin in `delayMs`, or what an ended import stored may be removed. */
  async release(
    { id, owner }: ImportLease,
    next: { readonly delayMs: number; readonly failures: 0 | 1 },
  ): Promise<void> {
    await this.#change(sql.release, [id, owner, next.delayMs, next.failures]);
  }

  /** Whether the import was this attempt's, and is completed now. */
  async complete(
    { id, owner }: ImportLease,
    { url, etag, sizeBytes, sha256 }: Pick<Import, 'url' | 'etag' | 'sha256'> & { readonly sizeBytes: number },
  ): Promise<boolean> {
    const from = statusesBefore('completed');
    return this.#change(sql.complete, [id, owner, from, withoutQuery(url), etag, sizeBytes, sha256]);
  }

  /** Whether the import was this attempt's, and has failed now. */
  async fail(
    { id, owner }: ImportLease,
    failure: { readonly url: string; readonly code: ImportErrorCode; readonly httpStatus: number | null },
  ): Promise<boolean> {
    const { url, code, httpStatus } = failure;
    return this.#change(sql.fail, [id, owner, statusesBefore('failed'), withoutQuery(url), code, httpStatus]);
  }

  /**
   * Takes up to `limit` ended imports whose objects are still to be removed, and that no attempt works on; no other
   * call does for ten minutes.
   */
  claimToCleanUp(limit: number): Promise<readonly EndedImport[]> {
    return claimDue<EndedImport>(this.#database, sql.claimToCleanUp, { limit });
  }

  /**
   * Notes that nothing of the imports is stored any more. Where an attempt has not given its import up, the store may
   * still join its parts into the object: then it is due once more an hour later, which no completion takes.
   */
  async markCleanedUp(ids: readonly string[]): Promise<void> {
    await this.#database.pool.query(sql.cleanedUp, [ids]);
  }

  async #change(text: string, values: readonly unknown[]): Promise<boolean> {
    return (await this.#database.pool.query(text, [...values])).rowCount === 1;
  }
}
