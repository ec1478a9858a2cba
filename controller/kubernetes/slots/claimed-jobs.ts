import { EventEmitter, once } from 'node:events';
import type { ClaimedJob } from '../snapshots/routing.ts';

/**
 * The owner of every job that is claimed for Kubernetes. Any leader may continue them, so all leaders share one name.
 */
export const leaseOwner = 'kubernetes';

/** The slots that the jobs of a pool take, and how many of these image jobs have. */
interface Counts {
  readonly all: number;
  readonly images: number;
}

/**
 * The jobs that are claimed for Kubernetes; each takes a slot of its pool. This copy is read from Postgres when a
 * leader begins and every second, and follows the leader's own transitions at once.
 */
export class ClaimedJobs {
  readonly #jobs = new Map<string, ClaimedJob>();
  /**
   * The counts of the pools that have some. They are asked for with each job that waits, thousands of times in one
   * pass.
   */
  readonly #counts = new Map<string, Counts>();
  readonly #changed = new EventEmitter().setMaxListeners(0);
  /** Ids that changed during a read: what it returns about them may be old. */
  #changedDuringRead: Set<string> | null = null;

  get ids(): IterableIterator<string> {
    return this.#jobs.keys();
  }

  has(jobId: string): boolean {
    return this.#jobs.has(jobId);
  }

  /** Whether the job is claimed and not suspended. */
  takesSlot(jobId: string): boolean {
    return this.#jobs.get(jobId)?.isSuspended === false;
  }

  /** How many slots of a pool are taken. */
  count(pool: string): number {
    return this.#counts.get(pool)?.all ?? 0;
  }

  /** How many of them image jobs have. */
  countImages(pool: string): number {
    return this.#counts.get(pool)?.images ?? 0;
  }

  /**
   * The ids of the jobs of a pool that are not suspended, highest priority first, then in the order of their claims.
   */
  activeIn(pool: string): string[] {
    return [...this.#jobs]
      .filter(([, job]) => job.pool === pool && !job.isSuspended)
      .toSorted(([, a], [, b]) => b.priority - a.priority)
      .map(([id]) => id);
  }

  set(jobId: string, job: ClaimedJob): void {
    this.#changedDuringRead?.add(jobId);
    this.#put(jobId, job);
    this.#changed.emit('changed');
  }

  remove(jobId: string): void {
    this.#changedDuringRead?.add(jobId);
    if (this.#delete(jobId)) this.#changed.emit('changed');
  }

  /** Wakes `nextChange` after a change outside of this register that may free slots. */
  announce(): void {
    this.#changed.emit('changed');
  }

  /** Replaces the contents by what `read` returns, except for jobs that changed during the read. */
  async refresh(read: () => Promise<readonly ({ readonly id: string } & ClaimedJob)[]>): Promise<void> {
    const changed = new Set<string>();
    this.#changedDuringRead = changed;
    try {
      const rows = await read();
      const present = new Set(rows.map(({ id }) => id));
      for (const id of this.#jobs.keys()) if (!present.has(id) && !changed.has(id)) this.#delete(id);
      for (const { id, ...job } of rows) if (!changed.has(id)) this.#put(id, job);
    } finally {
      this.#changedDuringRead = null;
      this.#changed.emit('changed');
    }
  }

  /** Resolves at the next change; rejects with the reason of `signal`. */
  async nextChange(signal: AbortSignal): Promise<void> {
    await once(this.#changed, 'changed', { signal });
  }

  #put(jobId: string, job: ClaimedJob): void {
    const before = this.#jobs.get(jobId);
    if (before !== undefined) this.#count(before, -1);
    this.#jobs.set(jobId, job);
    this.#count(job, 1);
  }

  #delete(jobId: string): boolean {
    const job = this.#jobs.get(jobId);
    if (job !== undefined) this.#count(job, -1);
    return this.#jobs.delete(jobId);
  }

  #count({ pool, isSuspended, isImage }: ClaimedJob, change: 1 | -1): void {
    if (isSuspended) return;
    const { all, images } = this.#counts.get(pool) ?? { all: 0, images: 0 };
    if (all + change > 0) this.#counts.set(pool, { all: all + change, images: images + (isImage ? change : 0) });
    else this.#counts.delete(pool);
  }
}
