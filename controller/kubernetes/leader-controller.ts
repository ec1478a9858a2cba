import type { Job } from '#domain/jobs/job.ts';
import { poolOfQueue, type QueueName } from '#domain/jobs/routing.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import type { EventRecorder } from '#platform/kubernetes/events.ts';
import type { LeaderTerm } from '#platform/kubernetes/leader-elector.ts';
import type { MediaJob, RunnerPool } from '#platform/kubernetes/objects.ts';
import { keyOf } from '#platform/kubernetes/store.ts';
import { type Requeue, WorkQueue } from '#platform/kubernetes/work-queue.ts';
import { pause } from '#platform/lifecycle/backoff.ts';
import { TokenBucket } from '#platform/lifecycle/token-bucket.ts';
import { collectGarbage } from '#platform/lifecycle/collect-garbage.ts';
import type { ClaimedJobs } from './slots/claimed-jobs.ts';
import { attemptJobName, labels } from './manifests/names.ts';
import { RunningJobs } from './slots/running-jobs.ts';
import { ensurePools } from './pools/ensure-pools.ts';
import { poolStatusLoop } from './pools/pool-status.ts';
import { PoolProblems } from './pools/pool-problems.ts';
import { type ApplyContext, applyAction } from './reconcile/apply.ts';
import { type CacheListener, Caches, poolOf } from './cache/caches.ts';
import type { MediaJobDependencies } from './dependencies.ts';
import { onMediaJobDeleted } from './reconcile/deleted.ts';
import { Resync } from './resync.ts';
import { observe } from './reconcile/observe.ts';
import { OwnWrites } from './cache/own-writes.ts';
import { plan } from './reconcile/plan.ts';
import { endOfJob, hasEnded, jobIdOf, type JobSnapshot, restOfEnded } from './snapshots.ts';
import { leaseOwner } from './reconcile/settle.ts';
import { PoolWaiters } from './slots/pool-waiters.ts';

/** MediaJobs that are looked at at once; each look is one read of Postgres and a few writes at most. */
const looksAtOnce = 16;
/** Status writes that only report progress, of all MediaJobs together. */
const statusRate = { perSecond: 5, burst: 25 };
/** How often Postgres is asked which jobs are held: what was cancelled is stopped within this and a pod's five seconds. */
const sweepEveryMs = 1_000;

interface LeadershipOptions {
  readonly d: MediaJobDependencies;
  readonly term: LeaderTerm;
  readonly held: ClaimedJobs;
  readonly recorder: EventRecorder;
}

/**
 * The work of a leader, from one term's beginning to its end. Nothing is kept from an earlier term: everything is listed
 * anew, after the lease was taken, so that what the last leader made is seen before anything is made here. A crash
 * leaves nothing that the next leader does not find in Postgres and in the API server.
 */
export class LeaderController implements CacheListener {
  readonly #d: MediaJobDependencies;
  readonly #term: LeaderTerm;
  readonly #held: ClaimedJobs;
  readonly #client: KubeClient;
  readonly #caches: Caches;
  readonly #queue: WorkQueue;
  readonly #working = new RunningJobs();
  readonly #context: ApplyContext;
  readonly #stopping = new AbortController();
  /** MediaJobs that were deleted before their end, by key. */
  readonly #gone = new Map<string, MediaJob>();
  readonly #ownWrites = new OwnWrites();
  readonly #sweep: Resync;
  readonly #waiting = new PoolWaiters();
  readonly #troubles = new PoolProblems();
  #isReady = false;
  #ended: Promise<void> = Promise.resolve();

  constructor({ d, term, held, recorder }: LeadershipOptions) {
    this.#d = d;
    this.#term = term;
    this.#held = held;
    this.#client = d.client.guardedBy(term.guard);
    const { client, runnerNamespace: namespace, log, relistEveryMs } = d;
    const times = relistEveryMs === undefined ? {} : { relistEveryMs };
    this.#caches = new Caches({ client, namespace, log, listener: this, ...times });
    this.#queue = new WorkQueue({
      name: 'mediajobs',
      handle: (key) => this.#reconcile(key),
      concurrency: looksAtOnce,
      log: d.log,
    });
    this.#context = {
      d,
      client: this.#client,
      recorder,
      held,
      working: this.#working,
      now: () => d.clock().getTime(),
      pace: new TokenBucket(statusRate),
      onStatusWritten: (mediaJob) => this.#ownWrites.written(mediaJob, this.#context.now()),
      onTrouble: (pool, trouble) => this.#troubles.note(pool, trouble),
      claimNow: (job, mediaJob) => this.#claimNow(job, mediaJob),
      onRoom: (pool) => this.#wake(pool),
    };
    this.#sweep = new Resync({
      d,
      client: this.#client,
      caches: this.#caches,
      held,
      working: this.#working,
      ownWrites: this.#ownWrites,
      now: this.#context.now,
      isGone: (jobId) => [...this.#gone.values()].some((mediaJob) => jobIdOf(mediaJob) === jobId),
      look: (key) => this.#queue.add(key),
    });
  }

  /** Begins; it waits for nothing, since the API server may be away. */
  start(): void {
    this.#ended = this.#run().catch((error: unknown) => {
      if (!this.#stopping.signal.aborted) this.#d.log.error({ err: error }, 'the work of the leader ended by a bug');
    });
  }

  async stop(): Promise<void> {
    this.#isReady = false;
    this.#stopping.abort(new Error('the term has ended'));
    await this.#caches.stop();
    await this.#queue.stop({ queued: 'drop' });
    await this.#ended;
  }

  /** How many more jobs of `queue` may be claimed. */
  freeSlots(queue: QueueName): number {
    if (!this.#isReady || !this.#term.isHeld()) return 0;
    return this.#freeIn(poolOfQueue[queue]);
  }

  #freeIn(pool: string): number {
    const { spec } = this.#caches.pools.get(this.#d.runnerNamespace, pool) ?? {};
    return Math.max(0, (spec?.concurrency ?? 0) - this.#held.count(pool));
  }

  /** Makes sure that a claimed job has its MediaJob. */
  async run(job: Job): Promise<void> {
    if (!this.#isReady) throw new Error('this process does not lead');
    const key = this.#caches.keyOfJob(job.id);
    const seen = key === undefined ? undefined : this.#caches.mediaJob(key);
    this.#held.add(job.id, { pool: poolOf(seen, job.queue), isSuspended: seen?.spec.suspend === true });
    this.#working.claim(attemptJobName(job), job.id);
    if (key !== undefined) {
      this.#queue.add(key);
      return;
    }
    try {
      await this.#sweep.make(job);
    } catch (error) {
      this.#held.remove(job.id);
      throw error;
    }
  }

  async #claimNow(job: Job, { spec }: MediaJob): Promise<boolean> {
    const pool = spec.pool ?? poolOfQueue[job.queue];
    if (spec.suspend === true || this.#freeIn(pool) === 0) return false;
    // The slot is taken before anything is waited for.
    this.#held.add(job.id, { pool, isSuspended: false });
    try {
      const claim = { jobId: job.id, attempt: job.attempt, owner: leaseOwner, leaseMs: Infinity };
      if ((await this.#d.jobs.claim(claim)) !== null) {
        this.#working.claim(attemptJobName(job), job.id);
        // Once more: a look at what Postgres holds may have come before the claim and not know of it.
        this.#held.add(job.id, { pool, isSuspended: false });
        return true;
      }
    } catch (error) {
      this.#held.remove(job.id);
      throw error;
    }
    this.#held.remove(job.id);
    return false;
  }

  // ── what the caches tell ────────────────────────────────────────────────────────────────────────────────────────

  changed(key: string): void {
    this.#queue.add(key);
  }

  mediaJobSeen(mediaJob: MediaJob): boolean {
    const jobId = jobIdOf(mediaJob);
    this.#sweep.seen(jobId);
    const isEcho = this.#ownWrites.seen(mediaJob);
    if (!this.#held.has(jobId)) return !isEcho;
    const pool = mediaJob.spec.pool ?? mediaJob.metadata?.labels?.[labels.pool] ?? mediaJob.status?.pool;
    if (pool !== undefined) this.#held.add(jobId, { pool, isSuspended: mediaJob.spec.suspend === true });
    return !isEcho;
  }

  mediaJobGone(mediaJob: MediaJob): void {
    if (!hasEnded(mediaJob)) this.#gone.set(keyOf(mediaJob), mediaJob);
    this.#ownWrites.forget(mediaJob);
  }

  jobSeen(job: JobSnapshot): void {
    const { name = '', labels: own = {} } = job.metadata;
    this.#working.settleCreation(name);
    const isOver = endOfJob(job) !== null || !this.#held.has(own[labels.jobId] ?? '');
    if (!isOver) this.#working.put(name, own[labels.pool] ?? '');
  }

  jobMoved(name: string, isAtWork: boolean): void {
    if (isAtWork || this.#working.isUnderway(name)) return;
    const pool = this.#working.end(name);
    if (pool !== undefined) this.#wake(pool);
  }

  poolChanged(pool: string): void {
    this.#held.announce();
    this.#wake(pool);
  }

  poolGone({ metadata }: RunnerPool): void {
    this.#held.announce();
    if (metadata?.name !== undefined && metadata.name in this.#d.pools) void this.#ensurePools();
  }

  // ── the work ────────────────────────────────────────────────────────────────────────────────────────────────────

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    await this.#caches.start();
    await this.#caches.whenSynced();
    // Of ten thousand jobs, the lists leave five times as much behind as is kept of them.
    collectGarbage();
    await this.#ensurePools();
    for (let isSwept = false; !isSwept && !signal.aborted;) {
      isSwept = await this.#sweepSafely();
      if (!isSwept) await pause(sweepEveryMs, signal);
    }
    if (signal.aborted) return;
    for (const job of this.#allJobs()) this.jobSeen(job);
    this.#isReady = true;
    await this.#queue.start();
    this.#held.announce();
    const statuses = poolStatusLoop({
      client: this.#client,
      namespace: this.#d.runnerNamespace,
      pools: () => [...this.#caches.pools.values()],
      active: (pool) => this.#held.count(pool),
      depth: () => this.#d.queue.depth(),
      lastError: (pool) => this.#troubles.lastOf(pool, this.#caches.mediaJobs.values()),
      log: this.#d.log,
      signal,
    });
    while (!signal.aborted) {
      await pause(sweepEveryMs, signal);
      if (!signal.aborted) await this.#sweepSafely();
    }
    await statuses;
  }

  *#allJobs(): Generator<JobSnapshot> {
    for (const jobId of this.#held.ids) yield* this.#caches.jobsOf(jobId);
  }

  async #ensurePools(): Promise<void> {
    const { runnerNamespace: namespace, pools, log } = this.#d;
    await ensurePools({ client: this.#client, namespace, pools, log, signal: this.#stopping.signal });
  }

  /** Read, observe, plan, apply; then again, if the plan says so. */
  async #reconcile(key: string): Promise<Requeue> {
    const gone = this.#gone.get(key);
    if (gone !== undefined) {
      await onMediaJobDeleted(gone, { d: this.#d, client: this.#client, caches: this.#caches, held: this.#held });
      this.#gone.delete(key);
    }
    const mediaJob = this.#ownWrites.newest(key, this.#caches.mediaJob(key));
    if (mediaJob === undefined) return;
    const now = this.#context.now();
    const restMs = restOfEnded(mediaJob, this.#caches.jobsOf(jobIdOf(mediaJob)).length, this.#d.mediaJobTtlMs - now);
    if (restMs > 0) return { afterMs: restMs };
    const observed = await observe(mediaJob, {
      d: this.#d,
      caches: this.#caches,
      working: this.#working,
      mayTellProgress: this.#context.pace.hasToken(now),
      sinceWrittenMs: this.#ownWrites.sinceMs(key, now),
      now,
    });
    const planned = plan(observed, now, this.#d);
    if (planned.waitsForRoom === true) this.#waiting.add(observed.pool.name, key);
    for (const action of planned.actions) {
      if (!(await applyAction(action, observed, this.#context))) break;
    }
    return planned.againMs === undefined ? undefined : { afterMs: planned.againMs };
  }

  #wake(pool: string): void {
    const priorityOf = (key: string) => this.#caches.mediaJob(key)?.spec.priority ?? 0;
    for (const key of this.#waiting.leave(pool, priorityOf)) this.#queue.add(key);
  }

  async #sweepSafely(): Promise<boolean> {
    try {
      await this.#sweep.sweep();
      return true;
    } catch (error) {
      if (!this.#stopping.signal.aborted) this.#d.log.warn({ err: error }, 'the held jobs could not be looked at');
      return false;
    }
  }
}
