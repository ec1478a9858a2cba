import { setTimeout as sleep } from 'node:timers/promises';
import type { Job } from '#domain/jobs/job.ts';
import { poolOfQueue, type QueueName } from '#domain/jobs/routing.ts';
import { isFinal } from '#domain/jobs/status.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import { hasReason } from '#platform/kubernetes/errors.ts';
import type { EventRecorder } from '#platform/kubernetes/events.ts';
import type { LeaderTerm } from '#platform/kubernetes/lease.ts';
import { type KubeObject, type MediaJob, mediaJobs, type RunnerPool } from '#platform/kubernetes/objects.ts';
import { keyOf } from '#platform/kubernetes/store.ts';
import { type Again, WorkQueue } from '#platform/kubernetes/work-queue.ts';
import type { HeldJobs } from '../executors/kubernetes/held-jobs.ts';
import { labels, mediaJobName } from '../executors/kubernetes/names.ts';
import { WorkingJobs } from '../executors/kubernetes/working-jobs.ts';
import { ensurePools } from '../runnerpool/ensure-pools.ts';
import { poolStatusLoop } from '../runnerpool/pool-status.ts';
import { type ApplyContext, applyAction } from './apply.ts';
import { type CacheListener, Caches, poolOf } from './caches.ts';
import type { MediaJobDependencies } from './dependencies.ts';
import { settleGone } from './gone.ts';
import { observe } from './observe.ts';
import { plan } from './plan.ts';
import { endOfJob, hasEnded, jobIdOf, type JobSeen, trimMediaJob } from './seen.ts';
import { leaseOwner } from './settle.ts';
import type { Trouble } from './trouble.ts';
import { WaitingRoom } from './waiting-room.ts';

/** MediaJobs that are looked at at once; each look is one read of Postgres and a few writes at most. */
const looksAtOnce = 16;
/** How often Postgres is asked which jobs are held: what was cancelled is stopped within this and a pod's five seconds. */
const sweepEveryMs = 1_000;
/** A MediaJob that was made shows in the cache within this; else it is taken for gone. */
const creationMs = 15_000;
/** How long one that could not be made again waits. */
const orphanRetryMs = 5_000;

interface LeadershipOptions {
  readonly d: MediaJobDependencies;
  readonly term: LeaderTerm;
  readonly held: HeldJobs;
  readonly recorder: EventRecorder;
}

/**
 * The work of a leader, from one term's beginning to its end. Nothing is kept from an earlier term: everything is listed
 * anew, after the lease was taken, so that what the last leader made is seen before anything is made here. A crash
 * leaves nothing that the next leader does not find in Postgres and in the API server.
 */
export class Leadership implements CacheListener {
  readonly #d: MediaJobDependencies;
  readonly #term: LeaderTerm;
  readonly #held: HeldJobs;
  readonly #client: KubeClient;
  readonly #caches: Caches;
  readonly #queue: WorkQueue;
  readonly #working = new WorkingJobs();
  readonly #context: ApplyContext;
  readonly #stopping = new AbortController();
  /** When a MediaJob was asked for that the cache does not show yet, by job id. */
  readonly #creating = new Map<string, number>();
  /** MediaJobs that were deleted before their end, by key. */
  readonly #gone = new Map<string, MediaJob>();
  /** MediaJobs as they were after our own last write, until the cache shows that: what was written is not written again. */
  readonly #ahead = new Map<string, MediaJob>();
  readonly #statusWrittenMs = new Map<string, number>();
  readonly #waiting = new WaitingRoom();
  readonly #troubles = new Map<string, string>();
  #isReady = false;
  #ended: Promise<void> = Promise.resolve();

  constructor({ d, term, held, recorder }: LeadershipOptions) {
    this.#d = d;
    this.#term = term;
    this.#held = held;
    this.#client = d.client.guardedBy(term.guard);
    this.#caches = new Caches({ client: d.client, namespace: d.runnerNamespace, log: d.log, listener: this });
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
      onStatusWritten: (mediaJob) => {
        this.#statusWrittenMs.set(keyOf(mediaJob), this.#context.now());
        this.#ahead.set(keyOf(mediaJob), trimMediaJob(mediaJob));
      },
      onTrouble: (pool, { reason, message }: Trouble) => this.#troubles.set(pool, `${reason}: ${message}`),
      onRoom: (pool) => this.#wake(pool),
    };
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
    const name = poolOfQueue[queue];
    const pool = this.#caches.pools.get(this.#d.runnerNamespace, name);
    return Math.max(0, (pool?.spec.concurrency ?? 0) - this.#held.count(name));
  }

  /** Makes sure that a claimed job has its MediaJob. */
  async run(job: Job): Promise<void> {
    if (!this.#isReady) throw new Error('this process does not lead');
    const key = this.#caches.keyOfJob(job.id);
    const seen = key === undefined ? undefined : this.#caches.mediaJob(key);
    this.#held.add(job.id, { pool: poolOf(seen, job.queue), isSuspended: seen?.spec.suspend === true });
    if (key !== undefined) {
      this.#queue.add(key);
      return;
    }
    if (this.#creating.has(job.id)) return;
    this.#creating.set(job.id, this.#context.now());
    try {
      await this.#createMediaJob(job);
    } catch (error) {
      // The cache will show it.
      if (hasReason(error, 'AlreadyExists')) return;
      this.#creating.delete(job.id);
      this.#held.remove(job.id);
      throw error;
    }
  }

  // ── what the caches tell ────────────────────────────────────────────────────────────────────────────────────────

  changed(key: string): void {
    this.#queue.add(key);
  }

  mediaJobSeen(mediaJob: MediaJob): void {
    const jobId = jobIdOf(mediaJob);
    this.#creating.delete(jobId);
    const ahead = this.#ahead.get(keyOf(mediaJob));
    if (ahead !== undefined && isAsNew(mediaJob, ahead)) this.#ahead.delete(keyOf(mediaJob));
    if (!this.#held.has(jobId)) return;
    const pool = mediaJob.spec.pool ?? mediaJob.metadata?.labels?.[labels.pool] ?? mediaJob.status?.pool;
    if (pool !== undefined) this.#held.add(jobId, { pool, isSuspended: mediaJob.spec.suspend === true });
  }

  mediaJobGone(mediaJob: MediaJob): void {
    if (!hasEnded(mediaJob)) this.#gone.set(keyOf(mediaJob), mediaJob);
    this.#statusWrittenMs.delete(keyOf(mediaJob));
    this.#ahead.delete(keyOf(mediaJob));
  }

  jobSeen(job: JobSeen): void {
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
      lastError: (pool) => (this.#isInTrouble(pool) ? (this.#troubles.get(pool) ?? '') : ''),
      log: this.#d.log,
      signal,
    });
    while (!signal.aborted) {
      await pause(sweepEveryMs, signal);
      if (!signal.aborted) await this.#sweepSafely();
    }
    await statuses;
  }

  *#allJobs(): Generator<JobSeen> {
    for (const jobId of this.#held.ids) yield* this.#caches.jobsOf(jobId);
  }

  async #ensurePools(): Promise<void> {
    const { runnerNamespace: namespace, pools, log } = this.#d;
    const { signal } = this.#stopping;
    for (let pauseMs = 1_000; !signal.aborted; pauseMs = Math.min(30_000, pauseMs * 2)) {
      try {
        await ensurePools({ client: this.#client, namespace, pools });
        return;
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ err: error }, 'the RunnerPools could not be made; trying again');
        await pause(pauseMs, signal);
      }
    }
  }

  /** Read, observe, plan, apply; then again, if the plan says so. */
  async #reconcile(key: string): Promise<Again> {
    const gone = this.#gone.get(key);
    if (gone !== undefined) {
      await settleGone(gone, { d: this.#d, client: this.#client, caches: this.#caches, held: this.#held });
      this.#gone.delete(key);
    }
    const mediaJob = this.#newest(key);
    if (mediaJob === undefined) return;
    const now = this.#context.now();
    const observed = await observe(mediaJob, {
      d: this.#d,
      caches: this.#caches,
      working: this.#working,
      sinceWrittenMs: now - (this.#statusWrittenMs.get(key) ?? 0),
      now,
    });
    const planned = plan(observed, now, this.#d);
    if (planned.waitsForRoom === true) this.#waiting.add(observed.pool.name, key);
    for (const action of planned.actions) {
      if (!(await applyAction(action, observed, this.#context))) break;
    }
    return planned.againMs === undefined ? undefined : { afterMs: planned.againMs };
  }

  #newest(key: string): MediaJob | undefined {
    const seen = this.#caches.mediaJob(key);
    const ahead = this.#ahead.get(key);
    return ahead !== undefined && ahead.metadata?.uid === seen?.metadata?.uid ? ahead : seen;
  }

  #wake(pool: string): void {
    const priorityOf = (key: string) => this.#caches.mediaJob(key)?.spec.priority ?? 0;
    for (const key of this.#waiting.leave(pool, priorityOf)) this.#queue.add(key);
  }

  #isInTrouble(pool: string): boolean {
    for (const { status } of this.#caches.mediaJobs.values()) {
      const isHeldUp = ['unschedulable', 'image_unavailable', 'quota_exceeded'].includes(status?.phase ?? '');
      if (isHeldUp && status?.pool === pool) return true;
    }
    return false;
  }

  async #createMediaJob({ id, type, hash, source, options, queue }: Job): Promise<void> {
    const pool = poolOfQueue[queue];
    await this.#client.create(mediaJobs, {
      metadata: {
        namespace: this.#d.runnerNamespace,
        name: mediaJobName(id),
        labels: { [labels.jobId]: id, [labels.pool]: pool },
      },
      // The webhook is the row's matter: its address may hold a secret of the caller's.
      spec: { type, hash, source, options, pool },
    });
  }

  async #sweepSafely(): Promise<boolean> {
    try {
      await this.#sweep();
      return true;
    } catch (error) {
      if (!this.#stopping.signal.aborted) this.#d.log.warn({ err: error }, 'the held jobs could not be looked at');
      return false;
    }
  }

  /** Compares what Postgres says is held with the MediaJobs that are there. */
  async #sweep(): Promise<void> {
    const before = new Set(this.#held.ids);
    const orphans: string[] = [];
    await this.#held.refresh(async () => {
      const rows = await this.#d.jobs.heldBy(leaseOwner);
      return rows.map(({ id, queue, attempt, progress }) => {
        const key = this.#caches.keyOfJob(id);
        const seen = key === undefined ? undefined : this.#caches.mediaJob(key);
        if (key === undefined) orphans.push(id);
        else if (seen?.status?.attempt !== attempt || this.#isBehind(key, seen, progress)) this.#queue.add(key);
        return { id, pool: poolOf(seen, queue), isSuspended: seen?.spec.suspend === true };
      });
    });
    for (const id of before) {
      const key = this.#held.has(id) ? undefined : this.#caches.keyOfJob(id);
      // Cancelled, or given up by somebody else.
      if (key !== undefined) this.#queue.add(key);
    }
    for (const id of orphans) await this.#restore(id);
  }

  #isBehind(key: string, { status }: MediaJob, progress: number): boolean {
    return (
      progress - (status?.progress ?? 0) >= 5 && this.#context.now() - (this.#statusWrittenMs.get(key) ?? 0) >= 5_000
    );
  }

  /**
   * A held job without a MediaJob: whoever claimed it did not get to making it, or it was deleted while nobody looked.
   * It goes on in a new attempt, since pods of the old one may still be writing.
   */
  async #restore(jobId: string): Promise<void> {
    const sinceMs = this.#creating.get(jobId);
    if (sinceMs !== undefined && this.#context.now() - sinceMs < creationMs) return;
    if ([...this.#gone.values()].some((mediaJob) => jobIdOf(mediaJob) === jobId)) return;
    const row = await this.#d.jobs.find(jobId);
    if (row === null || isFinal(row.status)) return;
    this.#d.log.warn(
      { job_id: jobId, attempt: row.attempt },
      'a held job has no MediaJob; it goes on in a new attempt',
    );
    this.#creating.set(jobId, this.#context.now() - creationMs + orphanRetryMs);
    // Made first: while the namespace is away, nothing else is worth doing.
    await this.#createMediaJob(row).catch((error: unknown) => {
      if (!hasReason(error, 'AlreadyExists')) throw error;
    });
    const given = { jobId, attempt: row.attempt, countsAsFailure: false, delayMs: 0 };
    const next = await this.#d.jobs.nextAttempt(given);
    if (next !== null) {
      await this.#d.jobs.claim({ jobId, attempt: next.attempt, owner: leaseOwner, leaseMs: Infinity });
    }
  }
}

/** Versions of one object are numbers that grow (Kubernetes 1.34 says so; before, they were so all the same). */
function isAsNew(seen: KubeObject, than: KubeObject): boolean {
  if (seen.metadata?.uid !== than.metadata?.uid) return true;
  return BigInt(seen.metadata?.resourceVersion ?? 0) >= BigInt(than.metadata?.resourceVersion ?? 0);
}

async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  await sleep(delayMs, undefined, { signal }).catch(() => undefined);
}
