/**
 * - `never_created`: the attempt was claimed in this term and its Job was not requested, so it certainly does not
 *   exist.
 * - `creating`: the Job was requested, and the cache does not show it yet.
 * - `created`: the cache showed the Job.
 */
type State = 'never_created' | 'creating' | 'created';

interface AttemptJob {
  readonly jobId: string;
  readonly pool: string;
  /** How many pods it may have at once. */
  pods: number;
  state: State;
  /** When its first step was first observed to run, in milliseconds. */
  runningSinceMs?: number;
}

interface ShownJob {
  readonly jobId: string;
  readonly pool: string;
  readonly mayRun: boolean;
  /** By default 1. */
  readonly pods?: number;
}

/**
 * The batch/v1 Jobs of the current attempts, by name. A Job and each of its pods count as running from its request
 * until its attempt has succeeded or none of its containers can run, so that resumed jobs do not exceed a pool's
 * concurrency.
 */
export class RunningJobs {
  readonly #jobs = new Map<string, AttemptJob>();

  /** How many pods run in a pool. */
  count(pool: string): number {
    let count = 0;
    for (const job of this.#jobs.values()) if (job.pool === pool && job.state !== 'never_created') count += job.pods;
    return count;
  }

  /** How many pods a running Job may have; undefined for any other. */
  podsOf(name: string): number | undefined {
    return this.#running(name)?.pods;
  }

  has(name: string): boolean {
    return this.#running(name) !== undefined;
  }

  /** The ids of the jobs that have a running Job. */
  jobIds(): Set<string> {
    const running = [...this.#jobs.values()].filter(({ state }) => state !== 'never_created');
    return new Set(running.map(({ jobId }) => jobId));
  }

  isBeingCreated(name: string): boolean {
    return this.#jobs.get(name)?.state === 'creating';
  }

  /**
   * Whether a Job of this name certainly never existed. Any other absent Job may have been created and deleted since.
   */
  isNeverCreated(name: string): boolean {
    return this.#jobs.get(name)?.state === 'never_created';
  }

  /** The attempt of this Job was just claimed here: no other process can have created its Job. */
  claim(name: string, jobId: string): void {
    if (!this.has(name)) this.#jobs.set(name, { jobId, pool: '', pods: 1, state: 'never_created' });
  }

  /** Removes claimed attempts without a Job whose job is no longer claimed. */
  forgetUnclaimed(isClaimed: (jobId: string) => boolean): void {
    for (const [name, { jobId }] of this.#jobs)
      if (this.isNeverCreated(name) && !isClaimed(jobId)) this.#jobs.delete(name);
  }

  /** A Job is about to be created. */
  beginCreation(name: string, { jobId, pool, pods = 1 }: { jobId: string; pool: string; pods?: number }): void {
    this.#jobs.set(name, { jobId, pool, pods, state: 'creating' });
  }

  /** The request for a Job failed, so it may be made again. */
  failCreation(name: string, jobId: string): void {
    this.#jobs.set(name, { jobId, pool: '', pods: 1, state: 'never_created' });
  }

  /** The cache shows a Job; it is added only if its attempt `mayRun`. Returns whether it has fewer pods than before. */
  show(name: string, { mayRun, pods = 1, ...job }: ShownJob): boolean {
    const known = this.#running(name);
    const before = known?.pods ?? 0;
    if (known !== undefined) Object.assign(known, { state: 'created', pods });
    else if (mayRun) this.#jobs.set(name, { ...job, pods, state: 'created' });
    return pods < before;
  }

  /** How long ago a step of the Job was first observed to run, in milliseconds; a step is running now. */
  runningMs(name: string, nowMs: number): number {
    const job = this.#running(name);
    if (job === undefined) return 0;
    job.runningSinceMs ??= nowMs;
    return nowMs - job.runningSinceMs;
  }

  /** Returns the pool that has capacity now; undefined if this Job was not running. */
  end(name: string): string | undefined {
    const job = this.#running(name);
    if (job !== undefined) this.#jobs.delete(name);
    return job?.pool;
  }

  #running(name: string): AttemptJob | undefined {
    const job = this.#jobs.get(name);
    return job?.state === 'never_created' ? undefined : job;
  }
}
