/**
 * The batch/v1 Jobs that are at work, by pool: a Job from the moment it is asked for until its attempt has ended well
 * or nothing of it runs any more. This is what holds a pool to its concurrency, also when suspended jobs go on.
 */
export class RunningJobs {
  readonly #poolOf = new Map<string, string>();
  /** Asked for, and not in the cache yet. */
  readonly #underway = new Set<string>();
  readonly #counts = new Map<string, number>();
  /** Claimed in this term, and not asked for; with the id of its job. */
  readonly #unmade = new Map<string, string>();
  /** When the first step of each was first seen to have begun, in milliseconds. */
  readonly #begunMs = new Map<string, number>();

  count(pool: string): number {
    return this.#counts.get(pool) ?? 0;
  }

  has(name: string): boolean {
    return this.#poolOf.has(name);
  }

  isUnderway(name: string): boolean {
    return this.#underway.has(name);
  }

  /** The attempt of this Job was claimed here and now: nobody else can have made its Job. */
  claim(name: string, jobId: string): void {
    if (!this.#poolOf.has(name)) this.#unmade.set(name, jobId);
  }

  /** Forgets what was claimed and is not wanted any more. */
  forgetUnmade(isWanted: (jobId: string) => boolean): void {
    for (const [name, jobId] of this.#unmade) if (!isWanted(jobId)) this.#unmade.delete(name);
  }

  /**
   * Whether it is sure that no Job of this name was ever made. One of which that is not known may have been made, and
   * may have been taken away since.
   */
  isUnmade(name: string): boolean {
    return this.#unmade.has(name);
  }

  /** A Job is about to be made. */
  begin(name: string, pool: string): void {
    this.#unmade.delete(name);
    this.#underway.add(name);
    this.put(name, pool);
  }

  /** A Job that was asked for was refused, or nobody knows: it may be asked for again. */
  fail(name: string, jobId: string): void {
    this.settleCreation(name);
    this.end(name);
    this.claim(name, jobId);
  }

  /** How long ago a Job was first seen at work, in milliseconds; it is now. */
  seenAtWorkMs(name: string, nowMs: number): number {
    const begunMs = this.#begunMs.get(name);
    if (begunMs === undefined && this.#poolOf.has(name)) this.#begunMs.set(name, nowMs);
    return nowMs - (begunMs ?? nowMs);
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
    this.#begunMs.delete(name);
    if (pool === undefined) return undefined;
    this.#poolOf.delete(name);
    this.#counts.set(pool, this.count(pool) - 1);
    return pool;
  }
}
