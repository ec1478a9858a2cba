import { KnownProblem } from '#domain/errors.ts';
import { type ApiKey, configuredKey, digestOfKey, isDigestOfOne, isNamedKey, keyIdOf } from '#domain/keys/api-key.ts';
import { isSessionSecret, rightsOfSession } from '#domain/keys/session.ts';
import { isDatabaseAway } from '#platform/postgres/database-away.ts';
import type { KeyStore } from '#platform/postgres/key-store.ts';
import type { FoundSession, SessionStore } from '#platform/postgres/session-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { RememberedLookups } from './remembered-lookups.ts';

/** A browser session: its key with the rights of the session. */
export interface OpenSession {
  readonly key: ApiKey;
  /** The SHA-256 of its secret. */
  readonly sha256: Buffer;
  /** The SHA-256 of its key, against whose limits it counts. */
  readonly keySha256: Buffer;
}

interface KnownKeysDependencies {
  /** The values of `API_KEY`. */
  readonly apiKeys: readonly string[];
  readonly store: Pick<KeyStore, 'find' | 'markUsed'>;
  readonly sessions: Pick<SessionStore, 'find'>;
  readonly log: Logger;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

/**
 * The API keys: those of the configuration, for which nothing is looked up, and named ones; and browser sessions of
 * both. A digest is compared by the database's index and as the name of what is remembered: the time that this takes
 * tells of the digest at most, and nothing of the secret.
 */
export class KnownKeys {
  readonly #dependencies: KnownKeysDependencies;
  /** The digests of the keys of the configuration. */
  readonly #configured: readonly Buffer[];
  readonly #keys: RememberedLookups<ApiKey>;
  readonly #sessions: RememberedLookups<OpenSession>;

  constructor(dependencies: KnownKeysDependencies) {
    this.#dependencies = dependencies;
    this.#configured = dependencies.apiKeys.map(digestOfKey);
    const now = dependencies.now ?? (() => performance.now());
    this.#keys = new RememberedLookups({ find: (digests) => this.#findKeys(digests), now });
    this.#sessions = new RememberedLookups({ find: (digests) => this.#findSessions(digests), now });
  }

  /**
   * The key whose text is `given`; null for none.
   *
   * @throws KnownProblem `busy` for a named key while the database is away
   */
  async find(given: string): Promise<ApiKey | null> {
    const digest = digestOfKey(given);
    if (isDigestOfOne(this.#configured, digest)) return configuredKey(digest);
    return isNamedKey(given) ? await orBusy(this.#keys.find(digest)) : null;
  }

  /**
   * The session with this secret; null for none.
   *
   * @throws KnownProblem `busy` while the database is away
   */
  async findSession(secret: string): Promise<OpenSession | null> {
    return isSessionSecret(secret) ? await orBusy(this.#sessions.find(digestOfKey(secret))) : null;
  }

  /** Forgets what was looked up: a key that was revoked here, or a session that ended here, ends here at once. */
  forget(): void {
    this.#keys.forget();
    this.#sessions.forget();
  }

  async #findKeys(digests: readonly Buffer[]): Promise<ReadonlyMap<string, ApiKey>> {
    const found = await this.#dependencies.store.find(digests);
    for (const { key, isUsedAgain } of found) if (isUsedAgain) this.#markUsed(key);
    return new Map(found.map(({ sha256, key }) => [sha256.toString('hex'), key]));
  }

  async #findSessions(digests: readonly Buffer[]): Promise<ReadonlyMap<string, OpenSession>> {
    const found = await this.#dependencies.sessions.find(digests);
    return new Map(
      found.flatMap((session) => {
        if (session.named?.isUsedAgain === true) this.#markUsed(session.named.key);
        const open = this.#openSession(session);
        return open === null ? [] : [[session.sha256.toString('hex'), open] as const];
      }),
    );
  }

  /** Null for a session of a key that is no longer in the configuration. */
  #openSession({ sha256, keyId, rights, named }: FoundSession): OpenSession | null {
    const { key, sha256: keySha256 } = named ?? this.#configuredWith(keyId) ?? {};
    if (key === undefined || keySha256 === undefined) return null;
    return { sha256, keySha256, key: { ...key, rights: rightsOfSession(key.rights, rights) } };
  }

  #configuredWith(keyId: string): Pick<NonNullable<FoundSession['named']>, 'key' | 'sha256'> | null {
    const sha256 = this.#configured.find((digest) => keyIdOf(digest) === keyId);
    return sha256 === undefined ? null : { key: configuredKey(sha256), sha256 };
  }

  #markUsed({ id }: ApiKey): void {
    const { store, log } = this.#dependencies;
    store.markUsed(id).catch((error: unknown) => log.warn({ err: error }, 'last use of an API key not noted'));
  }
}

async function orBusy<Found>(lookup: Promise<Found>): Promise<Found> {
  try {
    return await lookup;
  } catch (error) {
    if (!isDatabaseAway(error)) throw error;
    const detail = 'The database, which knows the named API keys, does not answer; send the same request again.';
    throw new KnownProblem('busy', detail, { cause: error });
  }
}
