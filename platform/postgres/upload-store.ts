import { statusesBefore, type Upload, type UploadReason, type UploadStatus } from '#domain/uploads/upload.ts';
import type { Database } from './database.ts';
import { claimDue, claimText } from './due-work.ts';
import { lockedInOrder } from './row-locks.ts';
import { isUuid } from './uuid.ts';

/** An upload to insert. */
export type NewUpload = Pick<
  Upload,
  'id' | 'keyId' | 'name' | 'source' | 'sizeBytes' | 'partSizeBytes' | 'contentType' | 'sha256'
> &
  Partial<Pick<Upload, 'title'>>;

/** The stored file of an ended upload, which is to be removed. */
export type EndedUpload = Pick<Upload, 'id' | 'source'>;

const columns = [
  'id, key_id as "keyId", name, source, size_bytes::float8 as "sizeBytes", part_size_bytes::float8 as "partSizeBytes"',
  'content_type as "contentType", sha256, title, multipart_id as "multipartId", status, reason, etag',
  'created_at as "createdAt", expires_at as "expiresAt"',
].join(', ');
const expire = claimText('upload_expiry', { set: `status = 'expired', ended_at = now()`, returning: 'id' });
const claimToCleanUp = claimText('upload_removal', { returning: 'id, source' });

/** The table `uploads`. Each change of a status is one guarded statement; its time is the database's. */
export class UploadStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Inserts an upload; null when its API key has `openMax` open ones already. */
  async insert(
    upload: NewUpload,
    limits: { readonly expiryMs: number; readonly openMax: number },
  ): Promise<Upload | null> {
    return this.#database.transaction(async (client) => {
      // One at a time for each key, or two requests at once would both see the last free place.
      await client.query('select pg_advisory_xact_lock(hashtextextended($1, 110))', [upload.keyId]);
      const { rows } = await client.query<Upload>(
        `insert into uploads
           (id, key_id, name, source, size_bytes, part_size_bytes, content_type, sha256, expires_at, title)
         select $1, $2, $3, $4, $5, $6, $7, $8, now() + $9 * interval '1 ms', $11
         where (select count(*) from uploads where key_id = $2 and status in ('open', 'completing')) < $10
         returning ${columns}`,
        [
          upload.id,
          upload.keyId,
          upload.name,
          upload.source,
          upload.sizeBytes,
          upload.partSizeBytes,
          upload.contentType,
          upload.sha256,
          limits.expiryMs,
          limits.openMax,
          upload.title ?? null,
        ],
      );
      return rows[0] ?? null;
    });
  }

  /** Null also for text that is no UUID. */
  async find(id: string): Promise<Upload | null> {
    if (!isUuid(id)) return null;
    const { rows } = await this.#database.pool.query<Upload>(`select ${columns} from uploads where id = $1`, [id]);
    return rows[0] ?? null;
  }

  /** Notes the store's name for the parts. */
  async setMultipart(id: string, multipartId: string): Promise<void> {
    await this.#database.pool.query('update uploads set multipart_id = $2 where id = $1', [id, multipartId]);
  }

  /** Begins a completion, for which it leaves `graceMs` at least; whether it had not begun. */
  async beginCompletion(id: string, graceMs: number): Promise<boolean> {
    const { rowCount } = await this.#database.pool.query(
      `update uploads set status = 'completing', expires_at = greatest(expires_at, now() + $3 * interval '1 ms')
       where id = $1 and status = any($2)`,
      [id, statusesBefore('completing'), graceMs],
    );
    return rowCount === 1;
  }

  /** Whether the upload was being completed, and is now. */
  async complete(id: string, etag: string): Promise<boolean> {
    const { rowCount } = await this.#database.pool.query(
      `update uploads set status = 'completed', etag = $3, ended_at = now() where id = $1 and status = any($2)`,
      [id, statusesBefore('completed'), etag],
    );
    return rowCount === 1;
  }

  /** Aborts an upload that is in one of the statuses `from`; whether it was. */
  async abort(
    id: string,
    reason: UploadReason,
    from: readonly UploadStatus[] = statusesBefore('aborted'),
  ): Promise<boolean> {
    const { rowCount } = await this.#database.pool.query(
      `update uploads set status = 'aborted', reason = $3, ended_at = now() where id = $1 and status = any($2)`,
      [id, from, reason],
    );
    return rowCount === 1;
  }

  /** Ends up to `limit` uploads that expire now; how many. */
  async expire(limit: number): Promise<number> {
    return (await claimDue(this.#database, expire, { limit })).length;
  }

  /** Takes up to `limit` ended uploads whose objects are still to be removed; no other call does for ten minutes. */
  claimToCleanUp(limit: number): Promise<readonly EndedUpload[]> {
    return claimDue<EndedUpload>(this.#database, claimToCleanUp, { limit });
  }

  /** Notes that nothing of the uploads is stored any more. */
  async markCleanedUp(ids: readonly string[]): Promise<void> {
    const locked = lockedInOrder('uploads', 'id = any($1)');
    await this.#database.pool.query(`update uploads set cleaned_up_at = now() where ${locked}`, [ids]);
  }
}
