import type { Job } from '#domain/jobs/job.ts';
import { batchable } from '#domain/work/batchable.ts';
import type { BatchableJob } from '#platform/postgres/batch-rows.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { PoolTurns } from '../../execution/pool-turns.ts';
import type { Caches } from '../cache/caches.ts';
import { batchPool } from './batch.ts';

/** How many waiting jobs are looked at. */
const limit = 1_000;
/** After a read that found none, runners that ask are not worth another one for this long. */
const emptyMs = 100;
/** A key whose images began to wait beside others has its turn after this. */
const oldMs = 500;
/** While more wait than are looked at, they are not counted again for this long. */
const manyMs = 1_000;

/** The ports that reading waiting images needs. */
export interface WaitingImagesPorts {
  readonly jobs: Pick<JobStore, 'batchables' | 'claim' | 'waitsForBatch'>;
  readonly turns: Pick<PoolTurns, 'order' | 'claimed' | 'holders'>;
  readonly caches: Pick<Caches, 'keyOfJob'>;
  readonly now: () => number;
}

/** The jobs that batches may take: the rows of Postgres, of which a part is read at once. */
export class WaitingImages {
  readonly #ports: WaitingImagesPorts;
  #images: BatchableJob[] = [];
  #reading: Promise<void> | null = null;
  #readAtMs = -Infinity;
  #emptyAtMs = 0;
  #manyAtMs = -Infinity;

  constructor(ports: WaitingImagesPorts) {
    this.#ports = ports;
  }

  /** Reads their ids again, the oldest first. */
  async read(): Promise<readonly string[]> {
    this.#reading ??= this.#readRows().finally(() => (this.#reading = null));
    await this.#reading;
    return this.#images.map(({ id }) => id);
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

  /** How many were found at the last read and are not taken since. */
  get count(): number {
    return this.#images.length;
  }

  /** Claims the one whose turn it is, of its key the one that has waited longest; null when there is none. */
  async claimNext(owner: string): Promise<Job | null> {
    const { now, jobs, turns } = this.#ports;
    if (this.#images.length === 0 && now() - this.#emptyAtMs < emptyMs) return null;
    if (this.#images.length === 0 || now() - this.#readAtMs > oldMs) await this.read();
    const keys = (await turns.order(batchPool)).map(({ key }) => key);
    for (let id = this.#take(keys); id !== undefined; id = this.#take(keys)) {
      if (this.#hasMediaJob(id)) continue;
      // Null: cancelled, or claimed by its ticket.
      const job = await jobs.claim({ jobId: id, attempt: batchable.attempt, owner, leaseMs: Infinity });
      if (job === null) continue;
      turns.claimed(batchPool, job);
      return job;
    }
    return null;
  }

  /** Whether the key whose turn it is waits in the pool, and not with images, or not with these first. */
  async isTurnOfOthers(): Promise<boolean> {
    const { turns } = this.#ports;
    const [first] = await turns.order(batchPool);
    if (first === undefined) return false;
    if (turns.holders.isOwed(batchPool, first.key)) return true;
    const hasImages = () => this.#images.some(({ key }) => key === first.key);
    // They may have come since the last read.
    if (!hasImages()) await this.read();
    return this.#images.length > 0 && !hasImages();
  }

  /** Takes the next one: of the first of these keys that has one, else of any. */
  #take(keys: readonly string[]): string | undefined {
    for (const wanted of keys) {
      const index = this.#images.findIndex(({ key }) => key === wanted);
      if (index >= 0) return this.#images.splice(index, 1)[0]?.id;
    }
    return this.#images.shift()?.id;
  }

  async #readRows(): Promise<void> {
    const { now, jobs } = this.#ports;
    const images = await jobs.batchables(limit);
    this.#images = images.filter(({ id }) => !this.#hasMediaJob(id));
    this.#readAtMs = now();
    if (this.#images.length === 0) this.#emptyAtMs = now();
    if (images.length === limit) this.#manyAtMs = now();
  }

  /** A job that was applied with kubectl runs by itself. */
  #hasMediaJob(id: string): boolean {
    return this.#ports.caches.keyOfJob(id) !== undefined;
  }
}
