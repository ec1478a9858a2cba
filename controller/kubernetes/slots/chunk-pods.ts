import type { ClaimedJobs } from './claimed-jobs.ts';
import type { RunningJobs } from './running-jobs.ts';

/** A slot must be free this long before a chunked encode takes it: a short job may be about to. */
const freeForMs = 5_000;

interface ChunkPodsOptions {
  readonly claimed: ClaimedJobs;
  readonly running: RunningJobs;
  readonly concurrencyOf: (pool: string) => number;
}

/** A Job of chunks. */
interface ChunkJob {
  readonly name: string;
  readonly pool: string;
  /** How many pods it can use. */
  readonly podsMax: number;
}

/**
 * How many pods the chunked encodes of a pool have. Every claimed job has a slot. Free slots are shared by the chunked
 * encodes, and given back when another job is claimed.
 */
export class ChunkPods {
  readonly #options: ChunkPodsOptions;
  readonly #chunkJobs = new Map<string, ChunkJob>();
  readonly #freeSinceMs = new Map<string, number>();

  constructor(options: ChunkPodsOptions) {
    this.#options = options;
  }

  /**
   * How many pods a Job of chunks may have now; at least 1, but none in a pool of concurrency 0. A Job that does not
   * exist yet gets them at once.
   */
  of(job: ChunkJob, nowMs: number): number {
    const { claimed, running, concurrencyOf } = this.#options;
    const { name, pool } = job;
    this.#chunkJobs.set(name, job);
    for (const each of this.#chunkJobs.keys()) if (each !== name && !running.has(each)) this.#forget(each);
    const concurrency = concurrencyOf(pool);
    if (concurrency === 0) return 0;
    const sharing = [...this.#chunkJobs.values()].filter((each) => each.pool === pool);
    const share = sharesOf(concurrency - claimed.count(pool), sharing).get(name) ?? 1;
    const current = running.podsOf(name);
    const pods = current ?? 1;
    const active = running.jobIds();
    const starting = claimed.activeIn(pool).filter((jobId) => !active.has(jobId)).length;
    const free = Math.max(0, concurrency - running.count(pool) - starting);
    if (share <= pods || free === 0) {
      this.#freeSinceMs.delete(name);
      return Math.min(share, pods);
    }
    const sinceMs = this.#freeSinceMs.get(name) ?? nowMs;
    this.#freeSinceMs.set(name, sinceMs);
    return current !== undefined && nowMs - sinceMs < freeForMs ? pods : Math.min(share, pods + free);
  }

  #forget(name: string): void {
    this.#chunkJobs.delete(name);
    this.#freeSinceMs.delete(name);
  }
}

/** Shares `spare` slots evenly: each Job has one slot of its own, and no more in all than it can use. */
function sharesOf(spare: number, sharing: readonly ChunkJob[]): Map<string, number> {
  const shares = new Map<string, number>();
  let left = Math.max(0, spare);
  const fromSmallest = sharing.toSorted((a, b) => a.podsMax - b.podsMax || (a.name < b.name ? -1 : 1));
  for (const [index, { name, podsMax }] of fromSmallest.entries()) {
    const more = Math.min(podsMax - 1, Math.ceil(left / (sharing.length - index)));
    shares.set(name, 1 + Math.max(0, more));
    left -= Math.max(0, more);
  }
  return shares;
}
