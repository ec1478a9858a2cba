import { shareSlots } from '#domain/jobs/slot-shares.ts';
import type { HeldSlots } from '../../execution/pool-turns.ts';
import type { ClaimedJobs } from './claimed-jobs.ts';
import type { RunningJobs } from './running-jobs.ts';

/*
 * The slots of chunked encodes.
 *
 *   has a slot ──a chunk ended, the pool is full, another key is next──▶ waits ──its turn, or a slot that stays free──▶
 *   is given a slot ──its Job asks for pods again──▶ starts ──a chunk has begun──▶ has a slot
 *
 * Who waits has a Job without pods (`parallelism: 0`), from which the next leader knows it; its finished chunks are
 * stored. It takes no slot, although its row stays claimed.
 */

/**
 * - `waits`: it gave its slot up.
 * - `given`: it was given one again, and its Job asks for no pods yet.
 * - `starting`: its Job asks for pods, none of which has begun a chunk. It keeps the slot until then, or two encodes
 *   would pass it to each other before a pod can start.
 */
type State = 'waits' | 'given' | 'starting';

/** A slot must be free this long before a chunked encode takes it: a short job may be about to. */
const freeForMs = 5_000;

interface ChunkPodsOptions {
  readonly claimed: ClaimedJobs;
  readonly running: RunningJobs;
  readonly concurrencyOf: (pool: string) => number;
}

/** A Job of chunks. */
export interface ChunkJob {
  readonly name: string;
  readonly jobId: string;
  readonly pool: string;
  /** The API key whose job it is; empty without one. */
  readonly key: string;
  /** Of the key. */
  readonly weight: number;
  /** How many pods it can use. */
  readonly podsMax: number;
  /** How many pods its Job asks for; null while it has no Job. */
  readonly parallelism: number | null;
  /** How many of its pods have begun a chunk that has not ended. */
  readonly started: number;
  /** Kueue has admitted its pods: it keeps them. */
  readonly keepsSlot?: boolean;
}

/**
 * How many pods the chunked encodes of a pool have. Every claimed job has a slot, but for the encodes that gave theirs
 * up. Free slots are shared by the chunked encodes, by key and weight, and given back when another job is claimed.
 */
export class ChunkPods {
  readonly #options: ChunkPodsOptions;
  /** By the id of the job. */
  readonly #chunkJobs = new Map<string, ChunkJob>();
  readonly #freeSinceMs = new Map<string, number>();
  /** By the id of the job; without one an encode has its slot. */
  readonly #states = new Map<string, State>();

  constructor(options: ChunkPodsOptions) {
    this.#options = options;
  }

  /**
   * How many pods a Job of chunks may have now; 0 while it waits for the turn of its key, and in a pool of concurrency
   * 0. A Job that does not exist yet gets them at once.
   *
   * @param first the key whose turn it is among those that wait for a slot of the pool; undefined: none waits
   */
  of(job: ChunkJob, first: string | undefined, nowMs: number): number {
    const { running, concurrencyOf } = this.#options;
    const { name, jobId, pool } = job;
    this.#chunkJobs.set(jobId, job);
    for (const each of this.#chunkJobs.values())
      if (each.jobId !== jobId && !running.has(each.name)) this.#forget(each);
    this.#setState(job, first, nowMs);
    const concurrency = concurrencyOf(pool);
    if (concurrency === 0 || this.#states.get(jobId) === 'waits') return 0;
    const share = this.#shareOf(job);
    const current = running.podsOf(name);
    const pods = current ?? 1;
    const free = Math.max(0, concurrency - running.count(pool) - this.#countStarting(pool));
    if (share <= pods || free === 0) {
      this.#freeSinceMs.delete(jobId);
      return Math.min(share, pods);
    }
    if (current !== undefined && current > 0 && !this.#isLongFree(jobId, nowMs)) return pods;
    return Math.min(share, pods + free);
  }

  /** How many claimed jobs of a pool take no slot, since they gave it up. */
  countWaiting(pool: string): number {
    if (this.#states.size === 0) return 0;
    return this.#waiting(pool).length;
  }

  /** The pools in which chunked encodes wait for a slot. */
  poolsThatWait(): ReadonlySet<string> {
    return new Set([...this.#chunkJobs.values()].filter(({ jobId }) => this.isWaiting(jobId)).map(({ pool }) => pool));
  }

  /** The slots of a chunked encode; undefined for any other job. */
  heldBy(jobId: string): HeldSlots | undefined {
    const job = this.#chunkJobs.get(jobId);
    if (job === undefined) return undefined;
    const slots = this.isWaiting(jobId) ? 0 : Math.max(1, this.#options.running.podsOf(job.name) ?? 1);
    return { slots, wantsMore: job.podsMax > slots };
  }

  /** Whether an encode of this key waits for a slot of the pool. */
  isOwed(pool: string, key: string): boolean {
    return this.#states.size > 0 && this.#waiting(pool).some((each) => each.key === key);
  }

  isWaiting(jobId: string): boolean {
    return this.#states.get(jobId) === 'waits';
  }

  /** Whether a slot was given to an encode that has no pods yet. */
  isGiven(jobId: string): boolean {
    return this.#states.get(jobId) === 'given';
  }

  /** The job has no chunks to encode, now or any more: it has a slot as any claimed job. */
  keepSlot(jobId: string): void {
    this.#states.delete(jobId);
  }

  /** Gives a free slot to the encode of this key that has waited longest; returns its job, undefined without one. */
  resume(pool: string, key: string): string | undefined {
    const next = this.#waiting(pool).find((each) => each.key === key);
    if (next === undefined || this.#freeToClaim(pool) <= 0) return undefined;
    this.#states.set(next.jobId, 'given');
    return next.jobId;
  }

  /** Those that wait, longest first. */
  #waiting(pool: string): ChunkJob[] {
    const { claimed, running } = this.#options;
    return [...this.#states.keys()].flatMap((jobId) => {
      const job = this.#chunkJobs.get(jobId);
      const isOne = job?.pool === pool && this.isWaiting(jobId) && claimed.takesSlot(jobId) && running.has(job.name);
      return isOne ? [job] : [];
    });
  }

  #setState(job: ChunkJob, first: string | undefined, nowMs: number): void {
    const { jobId, pool, key, parallelism, started, keepsSlot } = job;
    const state = this.#states.get(jobId);
    if (started > 0 || keepsSlot === true) {
      this.#states.delete(jobId);
      return;
    }
    if (state === 'given' && parallelism !== 0) this.#states.set(jobId, 'starting');
    if (state === 'starting' && parallelism === 0) this.#states.delete(jobId);
    if (!this.#states.has(jobId)) {
      if (parallelism !== 0 && !this.#mustLeave(job, first)) {
        if (parallelism === null) this.#states.set(jobId, 'starting');
        return;
      }
      this.#states.set(jobId, 'waits');
      this.#freeSinceMs.delete(jobId);
      this.#options.claimed.announce();
      if (parallelism !== 0) return;
    }
    if (!this.isWaiting(jobId)) return;
    if (this.#freeToClaim(pool) <= 0) this.#freeSinceMs.delete(jobId);
    else if (first === undefined || first === key || this.#isLongFree(jobId, nowMs)) this.#states.set(jobId, 'given');
  }

  /** Whether the slot of an encode without a running chunk goes to another key, or to a claimed job that has none. */
  #mustLeave({ pool, key }: ChunkJob, first: string | undefined): boolean {
    const free = this.#freeToClaim(pool);
    if (free < 0 && this.#countStarting(pool) > 0) return true;
    return free <= 0 && first !== undefined && first !== key;
  }

  /** How many slots no claimed job takes; negative where more are claimed than there are. */
  #freeToClaim(pool: string): number {
    const { claimed, concurrencyOf } = this.#options;
    return concurrencyOf(pool) - claimed.count(pool) + this.countWaiting(pool);
  }

  /** How many claimed jobs of a pool have no Job yet. */
  #countStarting(pool: string): number {
    const { claimed, running } = this.#options;
    const active = running.jobIds();
    return claimed.activeIn(pool).filter((jobId) => !active.has(jobId)).length;
  }

  /** The slots of an encode: one that it has as every claimed job, and its share of those that no job has. */
  #shareOf({ jobId, pool }: ChunkJob): number {
    const sharing = [...this.#chunkJobs.values()]
      .filter((each) => each.pool === pool && !this.isWaiting(each.jobId))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const users = sharing.map(({ key, weight, podsMax }) => ({ key, weight, slots: 1, slotsMax: podsMax }));
    const index = sharing.findIndex((each) => each.jobId === jobId);
    return shareSlots(this.#freeToClaim(pool), users)[index] ?? 1;
  }

  /** Whether slots have been free for an encode for a while. */
  #isLongFree(jobId: string, nowMs: number): boolean {
    const sinceMs = this.#freeSinceMs.get(jobId) ?? nowMs;
    this.#freeSinceMs.set(jobId, sinceMs);
    return nowMs - sinceMs >= freeForMs;
  }

  #forget({ jobId }: ChunkJob): void {
    this.#chunkJobs.delete(jobId);
    this.#freeSinceMs.delete(jobId);
    this.#states.delete(jobId);
  }
}
