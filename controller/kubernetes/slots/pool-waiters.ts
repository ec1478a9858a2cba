/** MediaJobs, by key, that wait until their pool has room for one more Job. */
export class PoolWaiters {
  readonly #waiting = new Map<string, Set<string>>();

  add(pool: string, key: string): void {
    const waiting = this.#waiting.get(pool) ?? new Set();
    this.#waiting.set(pool, waiting.add(key));
  }

  /** Lets all that wait for a pool go, those of the highest priority first. */
  leave(pool: string, priorityOf: (key: string) => number): string[] {
    const waiting = [...(this.#waiting.get(pool) ?? [])];
    this.#waiting.delete(pool);
    return waiting.toSorted((a, b) => priorityOf(b) - priorityOf(a));
  }
}
