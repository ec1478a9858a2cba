import { LRUCache } from 'lru-cache';
import { CoalescedCalls } from '#platform/concurrency/coalesced-calls.ts';

/**
 * How long a look-up holds, from before its statement began: a revoked key ends on every server within five seconds
 * (C35.3), and a statement of milliseconds is part of them.
 */
const holdsMs = 4_000;
/** About 2 MB each: a flood of wrong secrets displaces other wrong ones, never one that is there. */
const foundMax = 10_000;
const unknownMax = 10_000;
const lookedUpMax = 500;

interface Lookups<Found> {
  /** Finds what these digests belong to, by the digest in hex. */
  readonly find: (digests: readonly Buffer[]) => Promise<ReadonlyMap<string, Found>>;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

/**
 * Remembers for seconds what the database has for the digests of secrets, unknown ones too. Look-ups at once share a
 * statement.
 */
export class RememberedLookups<Found extends object> {
  readonly #lookups: Lookups<Found>;
  readonly #calls: CoalescedCalls<Buffer, Found | null>;
  readonly #found: LRUCache<string, Found>;
  readonly #unknown: LRUCache<string, true>;
  #forgotten = 0;

  constructor(lookups: Lookups<Found>) {
    this.#lookups = lookups;
    this.#calls = new CoalescedCalls({ run: (digests) => this.#run(digests), sizeMax: lookedUpMax, atOnceMax: 1 });
    const held = { ttl: holdsMs, ttlResolution: 0, perf: { now: lookups.now } };
    this.#found = new LRUCache({ max: foundMax, ...held });
    this.#unknown = new LRUCache({ max: unknownMax, ...held });
  }

  /** Null where there is nothing. */
  async find(digest: Buffer): Promise<Found | null> {
    const name = digest.toString('hex');
    const found = this.#found.get(name);
    if (found !== undefined) return found;
    return this.#unknown.has(name) ? null : await this.#calls.add(digest);
  }

  forget(): void {
    this.#forgotten += 1;
    this.#found.clear();
    this.#unknown.clear();
  }

  async #run(digests: readonly Buffer[]): Promise<readonly (Found | null)[]> {
    const start = this.#lookups.now();
    const forgotten = this.#forgotten;
    const all = await this.#lookups.find(digests);
    return digests.map((digest) => {
      const name = digest.toString('hex');
      const found = all.get(name) ?? null;
      // What was read before a key was revoked is not what is there now.
      if (forgotten === this.#forgotten) this.#remember(name, found, start);
      return found;
    });
  }

  #remember(name: string, found: Found | null, start: number): void {
    if (found === null) this.#unknown.set(name, true, { start });
    else this.#found.set(name, found, { start });
  }
}
