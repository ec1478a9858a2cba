import type { Job } from '#domain/jobs/job.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { KeyInTurn, PoolTurns } from '../../execution/pool-turns.ts';
import { attemptJobName } from '../snapshots/names.ts';
import { ChunkPods } from './chunk-pods.ts';
import type { ClaimedJob } from '../snapshots/routing.ts';
import { type ClaimedJobs, leaseOwner } from './claimed-jobs.ts';
import { type PreferredJob, PreferredJobs } from './preferred-jobs.ts';
import { RunningJobs } from './running-jobs.ts';

interface PoolSlotsOptions {
  /** Outlives the leader's term: admission waits for its changes. */
  readonly claimed: ClaimedJobs;
  /** The concurrency of a RunnerPool; 0 when there is none. */
  readonly concurrencyOf: (pool: string) => number;
  /** How many slots of a RunnerPool are reserved for image jobs. */
  readonly imageSlotsOf: (pool: string) => number;
  readonly jobs: Pick<JobStore, 'claim'>;
  readonly turns: Pick<PoolTurns, 'claimed' | 'order'>;
  /** Whether a key waits with nothing but images, for which the batches that run are enough. */
  readonly isServed?: (pool: string, first: KeyInTurn) => boolean;
  /** A slot was given to a job that had given its own up. */
  readonly resumed?: (jobId: string) => void;
}

/**
 * The slots of the pools during one term. A pool's concurrency bounds both its claimed jobs and its running pods; the
 * numbers differ when suspended jobs are resumed or a pool is scaled down.
 * Some slots are reserved for image jobs, which take the others too. A chunked encode that gave its slot up takes none.
 */
export class PoolSlots {
  readonly claimed: ClaimedJobs;
  readonly running = new RunningJobs();
  readonly chunkPods: ChunkPods;
  readonly #preferred = new PreferredJobs();
  readonly #concurrencyOf: (pool: string) => number;
  readonly #imageSlotsOf: (pool: string) => number;
  readonly #jobs: Pick<JobStore, 'claim'>;
  readonly #turns: PoolSlotsOptions['turns'];
  readonly #isServed: NonNullable<PoolSlotsOptions['isServed']>;
  readonly #resumed: NonNullable<PoolSlotsOptions['resumed']>;
  /** Pools in which it is the turn of a key without preferred jobs: no slot is kept for those of other keys. */
  readonly #turnsOfOthers = new Set<string>();

  constructor(options: PoolSlotsOptions) {
    const { claimed, concurrencyOf, imageSlotsOf, jobs, turns } = options;
    const { isServed = () => false, resumed = () => undefined } = options;
    this.claimed = claimed;
    this.#isServed = isServed;
    this.#resumed = resumed;
    this.#concurrencyOf = concurrencyOf;
    this.#imageSlotsOf = imageSlotsOf;
    this.#jobs = jobs;
    this.#turns = turns;
    const ofOthers = (pool: string) => concurrencyOf(pool) - this.#reservedForImages(pool);
    this.chunkPods = new ChunkPods({ claimed, running: this.running, concurrencyOf: ofOthers });
  }

  /** How many more jobs may be claimed for a pool by their tickets: the slots that no preferred job waits for. */
  freeForTickets(pool: string): number {
    return Math.max(0, this.#free({ pool, isImage: false }) - this.#wantedByPreferred(pool));
  }

  /** How many more image jobs may be claimed for a pool: those that are reserved for them too. */
  freeForImages(pool: string): number {
    const reserved = Math.min(this.#reservedForImages(pool), this.#free({ pool, isImage: true }));
    return this.freeForTickets(pool) + reserved;
  }

  /**
   * Whether a batch has to end early: its pool has more jobs than slots, or none left for a preferred job, or for a job
   * of another key whose turn it is. The slots that are reserved for images are not given up.
   */
  mustYield(pool: string, isTurnOfOthers = false): boolean {
    if (this.claimed.countImages(pool) <= this.#imageSlotsOf(pool)) return false;
    const wanted = isTurnOfOthers || this.#wantedByPreferred(pool) > 0 ? 1 : 0;
    return this.#taken(pool) > this.#concurrencyOf(pool) - wanted;
  }

  /** A queued job with a priority above 0 is to be claimed before the tickets of its pool. */
  prefer(job: Job, claim: ClaimedJob): void {
    this.#preferred.set(job, claim);
    this.claimed.announce();
  }

  unprefer(jobId: string): void {
    if (this.#preferred.delete(jobId)) this.claimed.announce();
  }

  /** Claims preferred jobs while their pools have free slots, in the turns of their keys; returns their ids. */
  async claimPreferred(): Promise<string[]> {
    const claimed: string[] = [];
    for (const pool of this.#preferred.pools())
      while (this.#free({ pool, isImage: true }) > 0) {
        const next = await this.#nextPreferred(pool);
        if (next === undefined) break;
        if (await this.claim(next.job, next.claim)) claimed.push(next.job.id);
        // Without a claim the job was claimed by its ticket, or has ended.
        this.unprefer(next.job.id);
      }
    return claimed;
  }

  /** The preferred job of the highest priority, of the key whose turn it is; undefined when it has none. */
  async #nextPreferred(pool: string): Promise<PreferredJob | undefined> {
    const [first] = await this.#turns.order(pool);
    const hasSlotForOthers = this.#free({ pool, isImage: false }) > 0;
    // Those that are left may be images, for which slots are reserved.
    const mayHave = ({ claim }: PreferredJob) => claim.pool === pool && (claim.isImage || hasSlotForOthers);
    const preferred = this.#preferred.byPriority().filter(mayHave);
    const next = preferred.find(({ job }) => first === undefined || (job.keyId ?? '') === first.key);
    if (next === undefined && preferred.length > 0) this.#turnsOfOthers.add(pool);
    else this.#turnsOfOthers.delete(pool);
    return next;
  }

  /** How many slots are kept for preferred jobs. */
  #wantedByPreferred(pool: string): number {
    return this.#turnsOfOthers.has(pool) ? 0 : this.#preferred.count(pool);
  }

  #free({ pool, isImage }: Pick<ClaimedJob, 'pool' | 'isImage'>): number {
    const reserved = isImage ? 0 : this.#reservedForImages(pool);
    return Math.max(0, this.#concurrencyOf(pool) - reserved - this.#taken(pool));
  }

  #taken(pool: string): number {
    return this.claimed.count(pool) - this.chunkPods.countWaiting(pool);
  }

  /** The slots reserved for image jobs that none has. */
  #reservedForImages(pool: string): number {
    return Math.max(0, this.#imageSlotsOf(pool) - this.claimed.countImages(pool));
  }

  /** Whether the Job of this name may run in the pool, or does. */
  hasCapacity({ pool, isImage }: Pick<ClaimedJob, 'pool' | 'isImage'>, jobName: string): boolean {
    const concurrency = this.#concurrencyOf(pool);
    const free = concurrency - this.running.count(pool) - (isImage ? 0 : this.#reservedForImages(pool));
    return concurrency > 0 && (this.running.has(jobName) || free > 0);
  }

  /** The ids of claimed jobs of a pool that have no pod yet, highest priority first. */
  waitingIn(pool: string): string[] {
    const running = this.running.jobIds();
    return this.claimed.activeIn(pool).filter((jobId) => !running.has(jobId) || this.chunkPods.isGiven(jobId));
  }

  /** The keys that want a slot of a pool, in the order of their turns. */
  async wanting(pool: string): Promise<readonly KeyInTurn[]> {
    const wants = (one: KeyInTurn) => this.chunkPods.isOwed(pool, one.key) || !this.#isServed(pool, one);
    return (await this.#turns.order(pool)).filter(wants);
  }

  /** Gives a free slot of a pool to a chunked encode of this key that gave its own up; whether there was one. */
  resume(pool: string, key: string): boolean {
    const jobId = this.chunkPods.resume(pool, key);
    if (jobId !== undefined) this.#resumed(jobId);
    return jobId !== undefined;
  }

  /** Gives the free slots to the chunked encodes that gave theirs up, where it is the turn of their keys. */
  async resumeInTurn(): Promise<void> {
    for (const pool of this.chunkPods.poolsThatWait())
      for (let isResumed = true; isResumed;) {
        if (this.#free({ pool, isImage: false }) === 0) break;
        const [first] = await this.wanting(pool);
        isResumed = first !== undefined && this.resume(pool, first.key);
      }
  }

  /** The attempt that `job` is at was claimed, by admission or here. */
  add(job: Pick<Job, 'id' | 'attempt'>, claimed: ClaimedJob): void {
    this.#preferred.delete(job.id);
    this.claimed.set(job.id, claimed);
    this.running.claim(attemptJobName(job), job.id);
  }

  /** Claims a queued job if its pool has a free slot; whether it did. */
  async claim(job: Job, claimed: ClaimedJob): Promise<boolean> {
    if (claimed.isSuspended || this.#free(claimed) === 0) return false;
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
    if (isClaimed) {
      this.add(job, claimed);
      this.#turns.claimed(claimed.pool, job);
    }
    return isClaimed;
  }
}
