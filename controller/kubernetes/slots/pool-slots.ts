import type { Job } from '#domain/jobs/job.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import { attemptJobName } from '../manifests/names.ts';
import { ChunkPods } from './chunk-pods.ts';
import { type ClaimedJob, type ClaimedJobs, leaseOwner } from './claimed-jobs.ts';
import { RunningJobs } from './running-jobs.ts';

interface PoolSlotsOptions {
  /** Outlives the leader's term: admission waits for its changes. */
  readonly claimed: ClaimedJobs;
  /** The concurrency of a RunnerPool; 0 when there is none. */
  readonly concurrencyOf: (pool: string) => number;
  readonly jobs: Pick<JobStore, 'claim'>;
}

interface PreferredJob {
  readonly job: Job;
  readonly claim: ClaimedJob;
}

/**
 * The slots of the pools during one term. A pool's concurrency bounds both the jobs that are claimed for it and the pods
 * that run in it: the second number may lag behind, as when suspended jobs are resumed or a pool is scaled down.
 */
export class PoolSlots {
  readonly claimed: ClaimedJobs;
  readonly running = new RunningJobs();
  readonly chunkPods: ChunkPods;
  /** Queued jobs that go before the tickets of their pool, by id. */
  readonly #preferred = new Map<string, PreferredJob>();
  readonly #concurrencyOf: (pool: string) => number;
  readonly #jobs: Pick<JobStore, 'claim'>;

  constructor({ claimed, concurrencyOf, jobs }: PoolSlotsOptions) {
    this.claimed = claimed;
    this.#concurrencyOf = concurrencyOf;
    this.#jobs = jobs;
    this.chunkPods = new ChunkPods({ claimed, running: this.running, concurrencyOf });
  }

  /** How many more jobs may be claimed for a pool by their tickets: the slots that no preferred job waits for. */
  freeForTickets(pool: string): number {
    const preferred = [...this.#preferred.values()].filter(({ claim }) => claim.pool === pool);
    return Math.max(0, this.#free(pool) - preferred.length);
  }

  /** Whether a pool has more jobs than slots, or none left for a preferred job. */
  mustYield(pool: string): boolean {
    const preferred = [...this.#preferred.values()].some(({ claim }) => claim.pool === pool);
    return this.claimed.count(pool) > this.#concurrencyOf(pool) - (preferred ? 1 : 0);
  }

  /** A queued job with a priority above 0 is to be claimed before the tickets of its pool. */
  prefer(job: Job, claim: ClaimedJob): void {
    this.#preferred.set(job.id, { job, claim });
    this.claimed.announce();
  }

  unprefer(jobId: string): void {
    if (this.#preferred.delete(jobId)) this.claimed.announce();
  }

  /** Claims preferred jobs while their pools have free slots, highest priority first; returns their ids. */
  async claimPreferred(): Promise<string[]> {
    const claimed: string[] = [];
    const byPriority = [...this.#preferred.values()].toSorted((a, b) => b.claim.priority - a.claim.priority);
    for (const { job, claim } of byPriority) {
      if (this.#free(claim.pool) === 0) continue;
      if (await this.claim(job, claim)) claimed.push(job.id);
      // Without a claim the job was claimed by its ticket, or has ended.
      this.unprefer(job.id);
    }
    return claimed;
  }

  #free(pool: string): number {
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
    this.#preferred.delete(job.id);
    this.claimed.set(job.id, claimed);
    this.running.claim(attemptJobName(job), job.id);
  }

  /** Claims a queued job if its pool has a free slot; whether it did. */
  async claim(job: Job, claimed: ClaimedJob): Promise<boolean> {
    if (claimed.isSuspended || this.#free(claimed.pool) === 0) return false;
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
