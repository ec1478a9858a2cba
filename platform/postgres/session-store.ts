import type { ApiKey } from '#domain/keys/api-key.ts';
import type { Right } from '#domain/keys/rights.ts';
import { sessionSec, sessionSecMax } from '#domain/keys/session.ts';
import type { Database } from './database.ts';
import { notLocked } from './due-work.ts';
import { keyColumns, isUsedAgain } from './key-store.ts';

/** How long a session holds, by the clock of the database. */
export interface SessionTimes {
  readonly expiresAt: Date;
  /** No renewal goes beyond it. */
  readonly endsAt: Date;
  /** Whole seconds until `expiresAt`. */
  readonly leftSec: number;
}

interface NewSession {
  readonly sha256: Buffer;
  readonly keyId: string;
  /** Null: those of the key. */
  readonly rights: readonly Right[] | null;
}

/** A session that was looked up. */
export interface FoundSession {
  readonly sha256: Buffer;
  readonly keyId: string;
  readonly rights: readonly Right[] | null;
  /** Its named key, with the digest of it; null for a session of a key of the configuration. */
  readonly named: { readonly key: ApiKey; readonly sha256: Buffer; readonly isUsedAgain: boolean } | null;
}

interface SessionRow extends ApiKey {
  readonly sha256: Buffer;
  readonly keyId: string;
  readonly sessionRights: readonly Right[] | null;
  /** Null, as all of the key, for a session of a key of the configuration. */
  readonly keySha256: Buffer | null;
  readonly isUsedAgain: boolean;
}

const times = `
  expires_at as "expiresAt", ends_at as "endsAt", round(extract(epoch from expires_at - now()))::int as "leftSec"`;
/** Sessions that have expired and go with the beginning of another one. */
const goneMax = 100;

const sql = {
  find: `
    select k.*, s.sha256, s.key_id as "keyId", s.rights as "sessionRights"
    from key_sessions s
    left join (
      select ${keyColumns}, sha256 as "keySha256", ${isUsedAgain} as "isUsedAgain" from api_keys
      where expires_at is null or expires_at > now()
    ) k on k.id = s.named_key_id
    where s.sha256 = any($1) and s.expires_at > now() and (k.id is not null or s.named_key_id is null)`,
  insert: `
    with gone as (
      delete from key_sessions where sha256 in (
        select sha256 from key_sessions where expires_at <= now()
        order by expires_at limit ${goneMax} ${notLocked}
      )
    )
    insert into key_sessions (sha256, key_id, named_key_id, rights, expires_at, ends_at)
    values (
      $1, $2, (select id from api_keys where id = $2 for key share), $3,
      now() + make_interval(secs => ${sessionSec}), now() + make_interval(secs => ${sessionSecMax})
    )
    returning ${times}`,
  renew: `
    update key_sessions set expires_at = least(now() + make_interval(secs => ${sessionSec}), ends_at)
    where sha256 = $1 and expires_at > now()
    returning ${times}`,
  remove: `delete from key_sessions where sha256 = $1`,
} as const;

/** The table `key_sessions`: browser sessions by the SHA-256 of their secret. Its database's clock ends them. */
export class SessionStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The sessions with these digests that hold, each with its key. */
  async find(digests: readonly Buffer[]): Promise<FoundSession[]> {
    const { rows } = await this.#database.pool.query<SessionRow>(sql.find, [digests]);
    return rows.map(({ sha256, keyId, sessionRights, keySha256, isUsedAgain: used, ...key }) => ({
      sha256,
      keyId,
      rights: sessionRights,
      named: keySha256 === null ? null : { key, sha256: keySha256, isUsedAgain: used },
    }));
  }

  /** Inserts a session; nobody finds one of a key that was revoked meanwhile. */
  async insert({ sha256, keyId, rights }: NewSession): Promise<SessionTimes> {
    const { rows } = await this.#database.pool.query<SessionTimes>(sql.insert, [sha256, keyId, rights]);
    return rows[0] as SessionTimes;
  }

  /** Null when the session has ended. */
  async renew(sha256: Buffer): Promise<SessionTimes | null> {
    return (await this.#database.pool.query<SessionTimes>(sql.renew, [sha256])).rows[0] ?? null;
  }

  async remove(sha256: Buffer): Promise<void> {
    await this.#database.pool.query(sql.remove, [sha256]);
  }
}
