import type { Job } from '#domain/jobs/job.ts';
import type { LeaderContext } from '../leader-context.ts';
import { batchQueue, batchTypes } from './batch.ts';

/** How many waiting jobs are looked at. */
const limit = 1_000;
/** After a read that found none, runners that ask are not worth another one for this long. */
const emptyMs = 100;

/** The jobs that batches may take: the rows of Postgres, of which a part is read at once. */
export class WaitingImages {
  readonly #context: LeaderContext;
  #ids: string[] = [];
  #reading: Promise<void> | null = null;
  #emptyAtMs = 0;

  constructor(context: LeaderContext) {
    this.#context = context;
  }

  /** Reads their ids anew, the oldest first. */
  async read(): Promise<readonly string[]> {
    this.#reading ??= this.#readIds().finally(() => (this.#reading = null));
    await this.#reading;
    return this.#ids;
  }

  /** Claims the one that has waited longest; null when there is none. */
  async claimNext(owner: string): Promise<Job | null> {
    const { now, dependencies } = this.#context;
    if (this.#ids.length === 0 && now() - this.#emptyAtMs < emptyMs) return null;
    if (this.#ids.length === 0) await this.read();
    for (let id = this.#ids.shift(); id !== undefined; id = this.#ids.shift()) {
      if (this.#hasMediaJob(id)) continue;
      // Null: cancelled, or claimed by its ticket.
      const job = await dependencies.jobs.claim({ jobId: id, attempt: 1, owner, leaseMs: Infinity });
      if (job !== null) return job;
    }
    return null;
  }

  async #readIds(): Promise<void> {
    const { dependencies, now } = this.#context;
    const ids = await dependencies.jobs.firstAttempts({ queue: batchQueue, types: batchTypes, limit });
    this.#ids = ids.filter((id) => !this.#hasMediaJob(id));
    if (this.#ids.length === 0) this.#emptyAtMs = now();
  }

  /** A job that was applied with kubectl runs by itself. */
  #hasMediaJob(id: string): boolean {
    return this.#context.caches.keyOfJob(id) !== undefined;
  }
}
