import { EventEmitter, once } from 'node:events';

/** A job that is claimed for Kubernetes. */
interface Held {
  readonly pool: string;
  /** A suspended one takes no slot. */
  readonly isSuspended: boolean;
}

/**
 * The jobs that are claimed for Kubernetes, by pool: what takes a slot. Postgres knows them; this copy is read from
 * there when a leader begins and every second after, and moved on at once by what the leader itself does.
 */
export class ClaimedJobs {
  readonly #held = new Map<string, Held>();
  readonly #changed = new EventEmitter().setMaxListeners(0);
  /** Ids that changed while a read was under way: what it brings about them may be old. */
  #touched: Set<string> | null = null;

  get ids(): IterableIterator<string> {
    return this.#held.keys();
  }

  has(jobId: string): boolean {
    return this.#held.has(jobId);
  }

  count(pool: string): number {
    let count = 0;
    for (const held of this.#held.values()) if (held.pool === pool && !held.isSuspended) count += 1;
    return count;
  }

  add(jobId: string, held: Held): void {
    this.#touched?.add(jobId);
    this.#held.set(jobId, held);
    this.#changed.emit('changed');
  }

  remove(jobId: string): void {
    this.#touched?.add(jobId);
    if (this.#held.delete(jobId)) this.#changed.emit('changed');
  }

  /** Something else changed that decides about free slots. */
  announce(): void {
    this.#changed.emit('changed');
  }

  /** Takes what `read` brings for the truth, but for what changed meanwhile. */
  async refresh(read: () => Promise<readonly ({ readonly id: string } & Held)[]>): Promise<void> {
    const touched = new Set<string>();
    this.#touched = touched;
    try {
      const rows = await read();
      const present = new Set(rows.map(({ id }) => id));
      for (const id of this.#held.keys()) if (!present.has(id) && !touched.has(id)) this.#held.delete(id);
      for (const { id, pool, isSuspended } of rows) if (!touched.has(id)) this.#held.set(id, { pool, isSuspended });
    } finally {
      this.#touched = null;
      this.#changed.emit('changed');
    }
  }

  /** Resolves with the next change; rejects with the reason of `signal`. */
  async nextChange(signal: AbortSignal): Promise<void> {
    await once(this.#changed, 'changed', { signal });
  }
}
