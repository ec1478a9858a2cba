import { setTimeout as sleep } from 'node:timers/promises';
import type { DeletedMediaStore } from '#platform/postgres/deleted-media-store.ts';

const everyMs = 1_000;

/** A server of delivery that has been up for a while: each second it asks which media were deleted or made again. */
export class Delivery {
  readonly #store: Pick<DeletedMediaStore, 'changed'>;
  readonly #deleted = new Set<string>();
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;
  #reads = 0;

  constructor(store: Pick<DeletedMediaStore, 'changed'>) {
    this.#store = store;
    this.#ended = this.#repeat();
  }

  /** Whether it answers 410 for the media. */
  isDeleted(hash: string): boolean {
    return this.#deleted.has(hash);
  }

  /** Waits for so many reads that begin from now on, and one that is under way. */
  async hasRead(count: number): Promise<void> {
    for (const until = this.#reads + count + 1; this.#reads < until;) await sleep(20);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#ended;
  }

  async #repeat(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      // A database that does not answer in time is asked again: an answer goes back further than it takes.
      await this.#read().catch(() => undefined);
      await sleep(everyMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #read(): Promise<void> {
    for (const { hash, isDeleted } of await this.#store.changed(100_000)) {
      if (isDeleted) this.#deleted.add(hash);
      else this.#deleted.delete(hash);
    }
    this.#reads += 1;
  }
}
