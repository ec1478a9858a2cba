import type { Job } from '#domain/jobs/job.ts';
import { poolOfQueue, type QueueName } from '#domain/jobs/routing.ts';
import type { EventRecorder } from '#platform/kubernetes/events.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import type { LeaderTerm } from '#platform/kubernetes/leader-elector.ts';
import { WorkQueue } from '#platform/kubernetes/work-queue.ts';
import { pause } from '#platform/lifecycle/backoff.ts';
import { collectGarbage } from '#platform/lifecycle/collect-garbage.ts';
import { TokenBucket } from '#platform/lifecycle/token-bucket.ts';
import { BatchWork } from './batches/batch-work.ts';
import { CacheEvents } from './cache-events.ts';
import { Caches } from './cache/caches.ts';
import { OwnWrites } from './cache/own-writes.ts';
import type { MediaJobDependencies } from './dependencies.ts';
import { Followers } from './followers.ts';
import type { LeaderContext } from './leader-context.ts';
import { ensurePools } from './pools/ensure-pools.ts';
import { PoolProblems } from './pools/pool-problems.ts';
import { poolStatusLoop } from './pools/pool-status.ts';
import { ProfileWork } from './profiles/profile-work.ts';
import { showQueuedJobs } from './queued-jobs.ts';
import { failIfRefused } from './reconcile/conclude.ts';
import { reconcile, reconcileStream } from './reconcile/reconcile.ts';
import { Resync } from './resync.ts';
import type { ClaimedJobs } from './slots/claimed-jobs.ts';
import { PoolSlots } from './slots/pool-slots.ts';
import { claimOf, trimMediaJob } from './snapshots.ts';

/** MediaJobs that are reconciled at once; each costs one read of Postgres and a few writes at most. */
const reconcilesAtOnce = 16;
/** Streams that are concluded at once; each verifies up to some hundred thousand objects. */
const streamsAtOnce = 4;
/** How often the claimed jobs are read from Postgres: a cancelled job stops within this and a pod's five seconds. */
const resyncEveryMs = 1_000;
/** How long no job is admitted after the API server did not create a MediaJob. */
const startPauseMs = 10_000;
/** Status writes that only report progress: each costs the API server as much as everything else of a short job. */
const progressRate = { perSecond: 5, burst: 25 };
/** Log lines about a failing resync: one a minute. */
const resyncLogRate = { perSecond: 1 / 60, burst: 1 };

interface LeaderControllerOptions {
  readonly dependencies: MediaJobDependencies;
  readonly term: LeaderTerm;
  readonly claimed: ClaimedJobs;
  readonly recorder: EventRecorder;
}

/**
 * The work of a leader during one term. It keeps no state of an earlier term: everything is listed after the lease was
 * taken, so that the objects of the last leader are known before any is created. A crash leaves nothing that the next
 * leader does not find in Postgres and in the API server.
 */
export class LeaderController {
  readonly batchWork: BatchWork;
  readonly #context: LeaderContext;
  readonly #term: LeaderTerm;
  readonly #queue: WorkQueue;
  readonly #streams: WorkQueue;
  readonly #profiles: ProfileWork;
  readonly #resync: Resync;
  readonly #resyncLog = new TokenBucket(resyncLogRate);
  readonly #stopping = new AbortController();
  #isReady = false;
  #pausedUntilMs = 0;
  #ended: Promise<void> = Promise.resolve();

  constructor({ dependencies, term, claimed, recorder }: LeaderControllerOptions) {
    const { client, runnerNamespace: namespace, log, relistEveryMs, jobs, clock, mark } = dependencies;
    const trim = (mediaJob: MediaJob) => trimMediaJob(mark.withoutForgedLabels(mediaJob));
    this.#term = term;
    const caches = new Caches({
      client,
      namespace,
      log,
      trimMediaJob: trim,
      ...(relistEveryMs === undefined ? {} : { relistEveryMs }),
    });
    const concurrencyOf = (pool: string) => caches.pools.get(namespace, pool)?.spec.concurrency ?? 0;
    const handle = (key: string) => this.batchWork.reconcile(key) ?? reconcile(key, this.#context);
    this.#queue = new WorkQueue({ name: 'mediajobs', handle, concurrency: reconcilesAtOnce, log });
    const handleStream = (key: string) => reconcileStream(key, this.#context);
    this.#streams = new WorkQueue({ name: 'streams', handle: handleStream, concurrency: streamsAtOnce, log });
    this.#context = {
      dependencies,
      client: client.guardedBy(term.guard),
      caches,
      ownWrites: new OwnWrites(trim),
      slots: new PoolSlots({ claimed, concurrencyOf, jobs }),
      followers: new Followers(),
      problems: new PoolProblems(),
      profileWaiters: new Set(),
      queue: this.#queue,
      streams: this.#streams,
      recorder,
      progressRate: new TokenBucket(progressRate),
      now: () => clock().getTime(),
    };
    this.batchWork = new BatchWork(this.#context);
    this.#profiles = new ProfileWork(this.#context);
    this.#resync = new Resync(this.#context, this.batchWork.batches);
  }

  /** Begins and returns at once: the API server may be away. */
  start(): void {
    const { log } = this.#context.dependencies;
    this.#ended = this.#run().catch((error: unknown) => {
      if (!this.#stopping.signal.aborted) log.error({ err: error }, 'leader stopped by a bug');
    });
  }

  async stop(): Promise<void> {
    this.#isReady = false;
    this.#stopping.abort(new Error('the term has ended'));
    await this.#context.caches.stop();
    await Promise.all([this.#queue, this.#streams, this.#profiles].map((queue) => queue.stop({ queued: 'drop' })));
    await this.#ended;
  }

  /** How many more jobs of `queue` may be claimed. */
  freeSlots(queue: QueueName): number {
    const isPaused = this.#context.now() < this.#pausedUntilMs;
    if (isPaused || !this.#isReady || !this.#term.isHeld()) return 0;
    return this.#context.slots.freeForTickets(poolOfQueue[queue]);
  }

  /** Makes sure that a claimed job has its MediaJob. */
  async run(job: Job): Promise<void> {
    if (!this.#isReady) throw new Error('this process is not the leader');
    const { caches, slots } = this.#context;
    const key = caches.keyOfJob(job.id);
    slots.add(job, claimOf(key === undefined ? undefined : caches.mediaJob(key), job));
    if (key !== undefined) {
      this.#queue.add(key);
      return;
    }
    try {
      await this.#resync.createMediaJob(job);
    } catch (error) {
      // The claim is given back: no reconcile may create the Job meanwhile.
      slots.claimed.remove(job.id);
      slots.running.forgetUnclaimed((jobId) => jobId !== job.id);
      if (await failIfRefused(job, error, this.#context.dependencies)) return;
      // Every other job would fail in the same way: the namespace is missing, or the API server is away.
      this.#pausedUntilMs = this.#context.now() + startPauseMs;
      throw error;
    }
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    const { caches, slots } = this.#context;
    const reactions = { resync: this.#resync, profiles: this.#profiles, ensurePools: () => void this.#ensurePools() };
    const events = new CacheEvents(this.#context, reactions);
    await caches.start(events);
    this.#profiles.start();
    await caches.whenSynced();
    this.batchWork.batches.begin();
    // The lists of ten thousand jobs leave five times as much garbage as is kept of them.
    collectGarbage();
    await this.#ensurePools();
    while (!signal.aborted && !(await this.#resyncOnce())) await pause(resyncEveryMs, signal);
    if (signal.aborted) return;
    // Before the first resync no job counted as claimed.
    for (const jobId of slots.claimed.ids) for (const job of caches.jobsOf(jobId)) events.jobStored(job);
    this.#isReady = true;
    await Promise.all([this.#queue, this.#streams].map((queue) => queue.start()));
    slots.claimed.announce();
    const loops = [
      poolStatusLoop(this.#context, signal),
      showQueuedJobs(this.#context, { resync: this.#resync, batches: this.batchWork.batches }, signal),
      this.batchWork.run(signal),
      claimPreferred(this.#context, signal),
    ];
    while (!signal.aborted) {
      await pause(resyncEveryMs, signal);
      if (!signal.aborted) await this.#resyncOnce();
    }
    await Promise.all(loops);
  }

  async #ensurePools(): Promise<void> {
    const { client, dependencies } = this.#context;
    const { runnerNamespace: namespace, pools, log } = dependencies;
    await ensurePools({ client, namespace, pools, log, signal: this.#stopping.signal });
  }

  /** Whether it succeeded. */
  async #resyncOnce(): Promise<boolean> {
    try {
      await this.#resync.run();
      return true;
    } catch (error) {
      const nowMs = this.#context.now();
      if (!this.#stopping.signal.aborted && this.#resyncLog.hasToken(nowMs)) {
        this.#resyncLog.take(nowMs);
        this.#context.dependencies.log.warn({ err: error }, 'claimed jobs could not be resynced');
      }
      return false;
    }
  }
}

/** Claims jobs with a priority above 0 as soon as slots are free, until `signal` aborts. */
async function claimPreferred(
  { slots, caches, queue, dependencies }: LeaderContext,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await slots.claimed.nextChange(signal);
      if (dependencies.storageWatch.isAway) continue;
      for (const jobId of await slots.claimPreferred()) queue.add(caches.keyOfJob(jobId) ?? '');
    } catch (error) {
      if (!signal.aborted) dependencies.log.warn({ err: error }, 'jobs could not be claimed by priority');
    }
  }
}
