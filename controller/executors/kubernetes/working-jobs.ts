/**
 * The batch/v1 Jobs that are at work, by pool: a Job from the moment it is asked for until its attempt has ended well
 * or nothing of it runs any more. This is what holds a pool to its concurrency, also when suspended jobs go on.
 */
export class WorkingJobs {
  readonly #poolOf = new Map<string, string>();
  /** Asked for, and not in the cache yet. */
  readonly #underway = new Set<string>();
  readonly #counts = new Map<string, number>();

  count(pool: string): number {
    return this.#counts.get(pool) ?? 0;
  }

  has(name: string): boolean {
    return this.#poolOf.has(name);
  }

  isUnderway(name: string): boolean {
    return this.#underway.has(name);
  }

  /** A Job is about to be made. */
  begin(name: string, pool: string): void {
    this.#underway.add(name);
    this.put(name, pool);
  }

  /** The cache shows a Job that was asked for, or it was not made after all. */
  settleCreation(name: string): void {
    this.#underway.delete(name);
  }

  put(name: string, pool: string): void {
    if (this.#poolOf.has(name)) return;
    this.#poolOf.set(name, pool);
    this.#counts.set(pool, this.count(pool) + 1);
  }

  /** Returns the pool that has room now; undefined when this Job took none. */
  end(name: string): string | undefined {
    const pool = this.#poolOf.get(name);
    if (pool === undefined) return undefined;
    this.#poolOf.delete(name);
    this.#counts.set(pool, this.count(pool) - 1);
    return pool;
  }
}
