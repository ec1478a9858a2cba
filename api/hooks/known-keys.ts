import { timingSafeEqual } from 'node:crypto';
import { KnownProblem } from '#domain/errors.ts';
import { type ApiKey, configuredKey, digestOfKey, isDigestOfOne, isNamedKey } from '#domain/keys/api-key.ts';
import { CoalescedCalls } from '#platform/concurrency/coalesced-calls.ts';
import { isDatabaseAway } from '#platform/postgres/database-away.ts';
import type { KeyStore } from '#platform/postgres/key-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';

/**
 * How long a look-up holds, from before its statement began: a revoked key ends on every server within five seconds
 * (C35.3), and a statement of milliseconds is part of them.
 */
const holdsMs = 4_000;
/** About 2 MB each: a flood of wrong keys displaces other wrong ones, never a key that is there. */
const remembered = { keys: 10_000, unknown: 10_000 };
const lookedUpMax = 500;

interface Remembered {
  readonly key: ApiKey | null;
  readonly until: number;
}

interface KnownKeysDependencies {
  /** The values of `API_KEY`. */
  readonly apiKeys: readonly string[];
  readonly store: Pick<KeyStore, 'find' | 'markUsed'>;
  readonly log: Logger;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

/**
 * The API keys: those of the configuration, for which nothing is looked up, and named ones, which are looked up in the
 * database and remembered for seconds, unknown ones too. Look-ups at once share a statement.
 */
export class KnownKeys {
  readonly #dependencies: KnownKeysDependencies;
  readonly #now: () => number;
  readonly #keys = new Map<string, Remembered>();
  readonly #unknown = new Map<string, Remembered>();
  readonly #lookups: CoalescedCalls<Buffer, ApiKey | null>;
  #forgotten = 0;

  constructor(dependencies: KnownKeysDependencies) {
    this.#dependencies = dependencies;
    this.#now = dependencies.now ?? (() => performance.now());
    this.#lookups = new CoalescedCalls({
      run: (digests) => this.#lookUp(digests),
      sizeMax: lookedUpMax,
      atOnceMax: 1,
    });
  }

  /**
   * The key whose text is `given`; null for none.
   *
   * @throws KnownProblem `busy` for a named key while the database is away
   */
  async find(given: string): Promise<ApiKey | null> {
    const digest = digestOfKey(given);
    if (isDigestOfOne(this.#dependencies.apiKeys, digest)) return configuredKey(digest);
    if (!isNamedKey(given)) return null;
    const name = digest.toString('hex');
    const known = this.#keys.get(name) ?? this.#unknown.get(name);
    if (known !== undefined && known.until > this.#now()) return known.key;
    try {
      return await this.#lookups.add(digest);
    } catch (error) {
      if (!isDatabaseAway(error)) throw error;
      const detail = 'The database, which knows the named API keys, does not answer; send the same request again.';
      throw new KnownProblem('busy', detail, { cause: error });
    }
  }

  /** Forgets what was looked up: a key that was revoked here ends here at once. */
  forget(): void {
    this.#forgotten += 1;
    this.#keys.clear();
    this.#unknown.clear();
  }

  async #lookUp(digests: readonly Buffer[]): Promise<readonly (ApiKey | null)[]> {
    const { store, log } = this.#dependencies;
    const until = this.#now() + holdsMs;
    const forgotten = this.#forgotten;
    const found = await store.find(digests);
    for (const { key, isUsedAgain } of found)
      if (isUsedAgain)
        store.markUsed(key.id).catch((error: unknown) => log.warn({ err: error }, 'last use of an API key not noted'));
    return digests.map((digest) => {
      const key = found.find(({ sha256 }) => timingSafeEqual(sha256, digest))?.key ?? null;
      // What was read before a key was revoked is not what is there now.
      if (forgotten === this.#forgotten) this.#remember(digest.toString('hex'), { key, until });
      return key;
    });
  }

  #remember(name: string, known: Remembered): void {
    this.#keys.delete(name);
    this.#unknown.delete(name);
    const [map, max] = known.key === null ? [this.#unknown, remembered.unknown] : [this.#keys, remembered.keys];
    map.set(name, known);
    for (const oldest of map.keys()) {
      if (map.size <= max) break;
      map.delete(oldest);
    }
  }
}
