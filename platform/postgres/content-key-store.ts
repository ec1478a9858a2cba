import { randomBytes } from 'node:crypto';
import { type ContentKey, unwrapContentKey, wrapContentKey } from '#domain/playback/content-key.ts';
import type { Database } from './database.ts';
import { lockHash } from './deletion-fence.ts';

interface ContentKeyRow {
  readonly kid: string;
  readonly envelope: unknown;
}

// A deletion does not end while it sees a job that it covers, so a job that runs after its end makes a new media. The
// deletion is lifted when that job has ended.
const insertUnlessDeleted = `
  insert into content_keys (hash, kid, envelope)
  select $1, $2, $3
  where not exists (select from media_deletions where hash = $1 and lifted_at is null)
    or exists (
      select from jobs join media_deletions on media_deletions.hash = jobs.hash and lifted_at is null
      where jobs.hash = $1 and swept_at is null and jobs.finished_at is null
        and media_deletions.finished_at is not null)
  on conflict (hash) do nothing`;

/** Content keys, one for each media hash, wrapped at rest (C18.3, C18.4). */
export class ContentKeyStore {
  readonly #database: Database;
  readonly #encryptionKeys: readonly string[];
  readonly #randomBytes: (bytes: number) => Buffer;

  /** `encryptionKeys` is `ENCRYPTION_KEY`: the first wraps, all unwrap. */
  constructor(
    database: Database,
    o: { readonly encryptionKeys: readonly string[]; readonly randomBytes?: (bytes: number) => Buffer },
  ) {
    this.#database = database;
    this.#encryptionKeys = o.encryptionKeys;
    this.#randomBytes = o.randomBytes ?? randomBytes;
  }

  /**
   * The hash's key, made when there is none; concurrent calls get the same key. It is committed before this returns, so
   * nothing is packaged with a key that could be lost.
   *
   * @throws Error when the stored envelope does not unwrap, and when the media was deleted and not submitted again: an
   *   attempt that was frozen meanwhile would leave a key that nothing deletes
   */
  async findOrCreate(hash: string): Promise<ContentKey> {
    const existing = await this.find(hash);
    if (existing !== null) return existing;
    const kid = this.#randomBytes(16).toString('hex');
    const envelope = wrapContentKey(this.#randomBytes(16), { hash, kid }, this.#encryptionKeys, this.#randomBytes(12));
    await this.#database.transaction(async (client) => {
      // Else the insert may wait for a deletion that destroys another key, and have looked for deletions before.
      await client.query(lockHash, [hash]);
      await client.query(insertUnlessDeleted, [hash, kid, JSON.stringify(envelope)]);
    });
    // Read back the row that won a concurrent insert.
    const stored = await this.find(hash);
    if (stored === null) throw new Error('no content key is made: the media was deleted');
    return stored;
  }

  /** The hash's key; null when none was made. @throws Error when the stored envelope does not unwrap */
  async find(hash: string): Promise<ContentKey | null> {
    const { rows } = await this.#database.pool.query<ContentKeyRow>(
      'select kid, envelope from content_keys where hash = $1',
      [hash],
    );
    if (rows[0] === undefined) return null;
    const { kid, envelope } = rows[0];
    return { kid, key: unwrapContentKey(envelope, { hash, kid }, this.#encryptionKeys) };
  }
}
