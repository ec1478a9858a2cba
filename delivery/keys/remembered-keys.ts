import { LRUCache } from 'lru-cache';
import type { ContentKey } from '#domain/playback/content-key.ts';
import { SharedCalls } from '#platform/concurrency/shared-calls.ts';
import type { ContentKeyStore } from '#platform/postgres/content-key-store.ts';

/**
 * A key is revoked by deleting its row, and every server forgets it within this time. Each media asks the database once
 * in it, whatever its players do.
 */
const rememberedMs = 5_000;
const keysMax = 10_000;

/** Content keys of the last seconds. A media without a key is not remembered: its key may be made at any moment. */
export class RememberedKeys {
  readonly #store: Pick<ContentKeyStore, 'find'>;
  readonly #keys = new LRUCache<string, ContentKey>({ max: keysMax, ttl: rememberedMs });
  /** One read for all who ask meanwhile. */
  readonly #reads = new SharedCalls<ContentKey | null>();
  /** How often a key was dropped. */
  #drops = 0;

  constructor(store: Pick<ContentKeyStore, 'find'>) {
    this.#store = store;
  }

  /** The key of `hash` when it is remembered, else null. */
  cached(hash: string): ContentKey | null {
    return this.#keys.get(hash) ?? null;
  }

  /** Drops the keys of deleted media. */
  forget(hashes: readonly string[]): void {
    this.#drops += 1;
    for (const hash of hashes) this.#keys.delete(hash);
  }

  /** The key of `hash`; null when there is none. @throws Error when the database fails or the key does not unwrap */
  async find(hash: string): Promise<ContentKey | null> {
    return this.cached(hash) ?? this.#reads.run(hash, () => this.#read(hash));
  }

  async #read(hash: string): Promise<ContentKey | null> {
    const drops = this.#drops;
    const start = performance.now();
    const key = await this.#store.find(hash);
    // What was read before its media was deleted is no key any more.
    if (drops !== this.#drops) return this.#read(hash);
    if (key !== null) this.#keys.set(hash, key, { start });
    return key;
  }
}
