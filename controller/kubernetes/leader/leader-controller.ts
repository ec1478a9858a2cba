import type { Job } from '#domain/jobs/job.ts';
import { poolOfQueue, type QueueName } from '#domain/jobs/routing.ts';
import type { LeaderTerm } from '#platform/kubernetes/leader-elector.ts';
import { pause } from '#platform/lifecycle/backoff.ts';
import { collectGarbage } from '#platform/lifecycle/collect-garbage.ts';
import { TokenBucket } from '#platform/concurrency/token-bucket.ts';
import { ensurePools } from '../pools/ensure-pools.ts';
import { poolStatusLoop } from '../pools/pool-status.ts';
import { failIfRefused } from '../reconcile/conclude.ts';
import { claimOf } from '../snapshots/routing.ts';
import { CacheEvents } from './cache-events.ts';
import { claimPreferred, Claims } from './claims.ts';
import { showQueuedJobs } from './queued-jobs.ts';
import { composeTerm, type Term, type TermInput } from './term.ts';

/** How often the claimed jobs are read from Postgres: a cancelled job stops within this and a pod's five seconds. */
const resyncEveryMs = 1_000;
/** How long no job is admitted after the API server did not create a MediaJob. */
const startPauseMs = 10_000;
/** Log lines about a failing resync: one a minute. */
const resyncLogRate = { perSecond: 1 / 60, burst: 1 };

/**
 * The work of a leader during one term. It lists everything after it acquired the lease, so that the objects of the
 * last leader are known before any is created. All its state is in Postgres and in the API server, for the next leader.
 */
export class LeaderController {
  /** Which jobs admission claims. */
  readonly claims: Claims;
  readonly #term: LeaderTerm;
  readonly #parts: Term;
  readonly #resyncLog = new TokenBucket(resyncLogRate);
  readonly #stopping = new AbortController();
  #isReady = false;
  #pausedUntilMs = 0;
  #ended: Promise<void> = Promise.resolve();

  constructor(input: TermInput) {
    this.#term = input.term;
    this.#parts = composeTerm(input);
    const { ports, batchWork } = this.#parts;
    this.claims = new Claims({ ...ports, batches: batchWork.batches, mayClaim: () => this.#mayClaim() });
  }

  /** Begins and returns at once: the API server may be away. */
  start(): void {
    const { log } = this.#parts.ports;
    this.#ended = this.#run().catch((error: unknown) => {
      if (!this.#stopping.signal.aborted) log.error({ err: error }, 'leader stopped by a bug');
    });
  }

  async stop(): Promise<void> {
    this.#isReady = false;
    this.#stopping.abort(new Error('the term has ended'));
    const { ports, workQueue, streams, profileWork, rolloutWork } = this.#parts;
    await ports.caches.stop();
    await Promise.all([workQueue, streams, profileWork, rolloutWork].map((queue) => queue.stop({ queued: 'drop' })));
    await this.#ended;
  }

  /** How many pods of a queue's pool are at work: what the status of the pool shows as `active`. */
  activePods(queue: QueueName): number {
    return this.#parts.ports.slots.running.count(poolOfQueue[queue]);
  }

  #mayClaim(): boolean {
    return this.#isReady && this.#term.isHeld() && this.#parts.ports.now() >= this.#pausedUntilMs;
  }

  /** Makes sure that a claimed job has its MediaJob. */
  async run(job: Job): Promise<void> {
    if (!this.#isReady) throw new Error('this process is not the leader');
    const { caches, slots, workQueue, now } = this.#parts.ports;
    const key = caches.keyOfJob(job.id);
    slots.add(job, claimOf(key === undefined ? undefined : caches.mediaJob(key), job));
    if (key !== undefined) {
      workQueue.add(key);
      return;
    }
    try {
      await this.#parts.resync.createMediaJob(job);
    } catch (error) {
      // The claim is given back: no reconcile may create the Job meanwhile.
      slots.claimed.remove(job.id);
      slots.running.forgetUnclaimed((jobId) => jobId !== job.id);
      if (await failIfRefused(job, error, this.#parts.ports)) return;
      // Every other job would fail in the same way: the namespace is missing, or the API server is away.
      this.#pausedUntilMs = now() + startPauseMs;
      throw error;
    }
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    const { ports, batchWork, resync, profileWork, rolloutWork, workQueue, streams } = this.#parts;
    const { caches, slots } = ports;
    const poolDeleted = (name: string) => {
      if (name in ports.pools) void this.#ensurePools();
    };
    const events = new CacheEvents({ ...ports, resync, profileWork, rolloutWork, poolDeleted });
    await caches.start(events);
    await caches.whenSynced();
    batchWork.batches.begin();
    // The lists of ten thousand jobs leave five times as much garbage as cached data.
    collectGarbage();
    await this.#ensurePools();
    profileWork.start();
    rolloutWork.start();
    while (!signal.aborted && !(await this.#resyncOnce())) await pause(resyncEveryMs, signal);
    if (signal.aborted) return;
    // Before the first resync no job counted as claimed.
    for (const jobId of slots.claimed.ids) for (const job of caches.jobsOf(jobId)) events.jobStored(job);
    this.#isReady = true;
    await Promise.all([workQueue, streams].map((queue) => queue.start()));
    slots.claimed.announce();
    const loops = [
      poolStatusLoop(ports, signal),
      showQueuedJobs({ ...ports, resync, batches: batchWork.batches }, signal),
      batchWork.run(signal),
      claimPreferred(ports, signal),
    ];
    while (!signal.aborted) {
      await pause(resyncEveryMs, signal);
      if (!signal.aborted) await this.#resyncOnce();
    }
    await Promise.all(loops);
  }

  async #ensurePools(): Promise<void> {
    await ensurePools(this.#parts.ports, this.#stopping.signal);
  }

  /** Whether it succeeded. */
  async #resyncOnce(): Promise<boolean> {
    try {
      await this.#parts.resync.run();
      return true;
    } catch (error) {
      const { log, now } = this.#parts.ports;
      const nowMs = now();
      if (!this.#stopping.signal.aborted && this.#resyncLog.hasToken(nowMs)) {
        this.#resyncLog.take(nowMs);
        log.warn({ err: error }, 'claimed jobs could not be resynced');
      }
      return false;
    }
  }
}
