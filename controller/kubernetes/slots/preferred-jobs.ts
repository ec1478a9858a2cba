import type { Job } from '#domain/jobs/job.ts';
import type { ClaimedJob } from '../snapshots/routing.ts';

/** A job, and how it takes part in its pool once it is claimed. */
export interface PreferredJob {
  readonly job: Job;
  readonly claim: ClaimedJob;
}

/** Queued jobs that go before the tickets of their pools. Thousands may wait: what is asked often is counted. */
export class PreferredJobs {
  /** By id. */
  #jobs = new Map<string, PreferredJob>();
  #isSorted = true;
  /** How many there are of each pool that has some. */
  readonly #counts = new Map<string, number>();

  count(pool: string): number {
    return this.#counts.get(pool) ?? 0;
  }

  pools(): Iterable<string> {
    return this.#counts.keys();
  }

  set(job: Job, claim: ClaimedJob): void {
    const known = this.#jobs.get(job.id)?.claim;
    if (known?.pool !== claim.pool) {
      this.delete(job.id);
      this.#counts.set(claim.pool, this.count(claim.pool) + 1);
    }
    this.#jobs.set(job.id, { job, claim });
    if (known?.priority !== claim.priority) this.#isSorted = false;
  }

  /** Whether the job was one of them. */
  delete(jobId: string): boolean {
    const pool = this.#jobs.get(jobId)?.claim.pool;
    if (pool === undefined) return false;
    this.#jobs.delete(jobId);
    const left = this.count(pool) - 1;
    if (left > 0) this.#counts.set(pool, left);
    else this.#counts.delete(pool);
    return true;
  }

  /** Highest priority first, then in the order in which they were set. Later changes are not in it. */
  byPriority(): PreferredJob[] {
    if (this.#isSorted) return [...this.#jobs.values()];
    const sorted = [...this.#jobs.values()].toSorted((a, b) => b.claim.priority - a.claim.priority);
    this.#jobs = new Map(sorted.map((preferred) => [preferred.job.id, preferred]));
    this.#isSorted = true;
    return sorted;
  }
}
