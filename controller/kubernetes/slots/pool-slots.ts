import type { Job } from '#domain/jobs/job.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import { attemptJobName } from '../manifests/names.ts';
import { type ClaimedJob, type ClaimedJobs, leaseOwner } from './claimed-jobs.ts';
import { RunningJobs } from './running-jobs.ts';

interface PoolSlotsOptions {
  /** Outlives the leader's term: admission waits for its changes. */
  readonly claimed: ClaimedJobs;
  /** The concurrency of a RunnerPool; 0 when there is none. */
  readonly concurrencyOf: (pool: string) => number;
  readonly jobs: Pick<JobStore, 'claim'>;
}

/**
 * The slots of the pools during one term. A pool's concurrency bounds both the jobs that are claimed for it and the Jobs
 * that run in it: the second number may lag behind, as when suspended jobs are resumed or a pool is scaled down.
 */
export class PoolSlots {
  readonly claimed: ClaimedJobs;
  readonly running = new RunningJobs();
  readonly #concurrencyOf: (pool: string) => number;
  readonly #jobs: Pick<JobStore, 'claim'>;

  constructor({ claimed, concurrencyOf, jobs }: PoolSlotsOptions) {
    this.claimed = claimed;
    this.#concurrencyOf = concurrencyOf;
    this.#jobs = jobs;
  }

  /** How many more jobs may be claimed for a pool. */
  free(pool: string): number {
    return Math.max(0, this.#concurrencyOf(pool) - this.claimed.count(pool));
  }

  /** Whether the Job of this name may run in the pool, or does. */
  hasCapacity(pool: string, jobName: string): boolean {
    return this.running.has(jobName) || this.running.count(pool) < this.#concurrencyOf(pool);
  }

  /** The ids of claimed jobs of a pool that have no Job yet, highest priority first. */
  waitingIn(pool: string): string[] {
    const running = this.running.jobIds();
    return this.claimed.activeIn(pool).filter((jobId) => !running.has(jobId));
  }

  /** The attempt that `job` is at was claimed, by admission or here. */
  add(job: Pick<Job, 'id' | 'attempt'>, claimed: ClaimedJob): void {
    this.claimed.set(job.id, claimed);
    this.running.claim(attemptJobName(job), job.id);
  }

  /** Claims a queued job if its pool has a free slot; whether it did. */
  async claim(job: Job, claimed: ClaimedJob): Promise<boolean> {
    if (claimed.isSuspended || this.free(claimed.pool) === 0) return false;
    // The slot is taken before the first await.
    this.claimed.set(job.id, claimed);
    let isClaimed = false;
    try {
      const claim = { jobId: job.id, attempt: job.attempt, owner: leaseOwner, leaseMs: Infinity };
      isClaimed = (await this.#jobs.claim(claim)) !== null;
    } finally {
      if (!isClaimed) this.claimed.remove(job.id);
    }
    // Set once more: a read of the claimed jobs may have begun before this claim.
    if (isClaimed) this.add(job, claimed);
    return isClaimed;
  }
}
