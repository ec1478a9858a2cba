import type { Job } from '#domain/jobs/job.ts';
import { batchable } from '#domain/work/batchable.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { Caches } from '../cache/caches.ts';

/** How many waiting jobs are looked at. */
const limit = 1_000;
/** After a read that found none, runners that ask are not worth another one for this long. */
const emptyMs = 100;
/** While more wait than are looked at, they are not counted again for this long. */
const manyMs = 1_000;

/** The ports that reading waiting images needs. */
export interface WaitingImagesPorts {
  readonly jobs: Pick<JobStore, 'batchableIds' | 'claim' | 'waitsForBatch'>;
  readonly caches: Pick<Caches, 'keyOfJob'>;
  readonly now: () => number;
}

/** The jobs that batches may take: the rows of Postgres, of which a part is read at once. */
export class WaitingImages {
  readonly #ports: WaitingImagesPorts;
  #ids: string[] = [];
  #reading: Promise<void> | null = null;
  #emptyAtMs = 0;
  #manyAtMs = -Infinity;

  constructor(ports: WaitingImagesPorts) {
    this.#ports = ports;
  }

  /** Reads their ids again, the oldest first. */
  async read(): Promise<readonly string[]> {
    this.#reading ??= this.#readIds().finally(() => (this.#reading = null));
    await this.#reading;
    return this.#ids;
  }

  /** How many wait if this job is one of them, `limit` standing for more; else 0. */
  async countWith(jobId: string): Promise<number> {
    const { now, jobs } = this.#ports;
    if (now() - this.#manyAtMs > manyMs) {
      const ids = await this.read();
      if (ids.includes(jobId)) return ids.length;
      if (ids.length < limit) return 0;
    }
    // Behind those that were read.
    const waits = await jobs.waitsForBatch(jobId);
    return waits && !this.#hasMediaJob(jobId) ? limit : 0;
  }

  /** Claims the one that has waited longest; null when there is none. */
  async claimNext(owner: string): Promise<Job | null> {
    const { now, jobs } = this.#ports;
    if (this.#ids.length === 0 && now() - this.#emptyAtMs < emptyMs) return null;
    if (this.#ids.length === 0) await this.read();
    for (let id = this.#ids.shift(); id !== undefined; id = this.#ids.shift()) {
      if (this.#hasMediaJob(id)) continue;
      // Null: cancelled, or claimed by its ticket.
      const job = await jobs.claim({ jobId: id, attempt: batchable.attempt, owner, leaseMs: Infinity });
      if (job !== null) return job;
    }
    return null;
  }

  async #readIds(): Promise<void> {
    const { now, jobs } = this.#ports;
    const ids = await jobs.batchableIds(limit);
    this.#ids = ids.filter((id) => !this.#hasMediaJob(id));
    if (this.#ids.length === 0) this.#emptyAtMs = now();
    if (ids.length === limit) this.#manyAtMs = now();
  }

  /** A job that was applied with kubectl runs by itself. */
  #hasMediaJob(id: string): boolean {
    return this.#ports.caches.keyOfJob(id) !== undefined;
  }
}
