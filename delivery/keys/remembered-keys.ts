import { LRUCache } from 'lru-cache';
import type { ContentKey } from '#domain/playback/content-key.ts';
import type { ContentKeyStore } from '#platform/postgres/content-key-store.ts';

/**
 * A key is revoked by deleting its row, and every server forgets it within this time. Each media asks the database once
 * in it, whatever its players do.
 */
const rememberedMs = 5_000;
const keysMax = 10_000;

/** Content keys of the last seconds. A media without a key is not remembered: its key may be made at any moment. */
export class RememberedKeys {
  readonly #keys: LRUCache<string, ContentKey>;

  constructor(store: Pick<ContentKeyStore, 'find'>) {
    this.#keys = new LRUCache({
      max: keysMax,
      ttl: rememberedMs,
      // One read for all who ask meanwhile.
      fetchMethod: async (hash: string) => (await store.find(hash)) ?? undefined,
    });
  }

  /** The key of `hash` when it is remembered, else null. */
  cached(hash: string): ContentKey | null {
    return this.#keys.get(hash) ?? null;
  }

  /** Drops the key of a deleted media. */
  forget(hash: string): void {
    this.#keys.delete(hash);
  }

  /** The key of `hash`; null when there is none. @throws Error when the database fails or the key does not unwrap */
  async find(hash: string): Promise<ContentKey | null> {
    return (await this.#keys.fetch(hash)) ?? null;
  }
}
