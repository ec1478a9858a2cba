import type { Job } from '#domain/jobs/job.ts';
import type { Ticket } from '#domain/jobs/ticket.ts';
import { type MediaJob, mediaJobs } from '#platform/kubernetes/objects.ts';
import type { LeaderContext } from '../leader-context.ts';
import { hasEnded } from '../snapshots.ts';
import type { ClaimedJob } from '../slots/claimed-jobs.ts';
import { leaseOwner } from '../slots/claimed-jobs.ts';
import { type Batch, batchOf, batchPool, batchQueue, batchTypes, isBatch, isForBatch } from './batch.ts';
import { batchMediaJob, batchMs } from './batch-manifest.ts';
import { WaitingImages } from './waiting-images.ts';

/** One more pod for so many waiting jobs: about as long as a pod takes to start. */
const jobsPerPod = 25;
/** For how long image jobs run by themselves after a batch could not start. */
const pauseMs = 10 * 60_000;

const slotOfBatch: ClaimedJob = { pool: batchPool, isSuspended: false, priority: 0 };

/** The batches of one term that have not ended: each has a slot of the pool `default`. */
export class Batches {
  readonly waiting: WaitingImages;
  readonly #context: LeaderContext;
  readonly #active = new Map<string, Batch>();
  #adding: Promise<void> | null = null;
  #pausedUntilMs = 0;
  /** Whether a job may wait that was left to batches, and has no ticket. */
  #hasLeft = false;

  constructor(context: LeaderContext) {
    this.#context = context;
    this.waiting = new WaitingImages(context);
  }

  /** Reads the batches of earlier terms from the caches. */
  begin(): void {
    for (const mediaJob of this.#context.caches.mediaJobs.values()) {
      if (isBatch(mediaJob) && !hasEnded(mediaJob)) this.store(mediaJob);
    }
  }

  get isEnabled(): boolean {
    return this.#context.dependencies.batches !== null && this.#context.now() >= this.#pausedUntilMs;
  }

  /** The slots that batches take, beside those of the claimed rows. */
  claims(): ({ readonly id: string } & ClaimedJob)[] {
    return [...this.#active.keys()].map((id) => ({ id, ...slotOfBatch }));
  }

  all(): readonly Batch[] {
    return [...this.#active.values()];
  }

  /** A batch that has not ended. */
  find(id: string): Batch | undefined {
    return this.#active.get(id);
  }

  /** Whether a waiting job gets no MediaJob of its own, since a batch may take it. */
  mayTake(job: Job): boolean {
    return this.isEnabled && isForBatch(job);
  }

  /**
   * Whether the job of a ticket is left to the batches, of which one more is made where it is worth it. A job without a
   * ticket is not lost: the batches look for rows, and the sweeper adds the ticket again.
   */
  async leaves({ jobId, attempt, queue, priority = 0 }: Ticket): Promise<boolean> {
    const { jobs, batches } = this.#context.dependencies;
    if (!this.isEnabled || batches === null || attempt !== 1 || queue !== batchQueue || priority !== 0) return false;
    const waiting = await this.waiting.read();
    if (!waiting.includes(jobId)) return false;
    if (this.#active.size === 0) {
      const alone = await jobs.countHeld(leaseOwner, { types: batchTypes, limit: batches.min });
      if (waiting.length + alone < batches.min) return false;
    }
    this.#hasLeft = true;
    await this.#addFor(waiting.length);
    return true;
  }

  /** Makes a batch for jobs that were left to one and that none has taken. */
  async addForLeft(): Promise<void> {
    if (!this.#hasLeft || !this.isEnabled) return;
    const { length } = await this.waiting.read();
    if (length === 0) this.#hasLeft = this.#active.size > 0;
    else await this.#addFor(length);
  }

  /** Makes batches for so many waiting jobs, while the pool has slots. */
  async #addFor(jobsWaiting: number): Promise<void> {
    this.#adding ??= this.#add(Math.ceil(jobsWaiting / jobsPerPod)).finally(() => (this.#adding = null));
    await this.#adding;
  }

  async #add(wanted: number): Promise<void> {
    const { slots, client, dependencies, now } = this.#context;
    const open = () => this.all().filter(({ isClosing }) => !isClosing).length;
    while (this.isEnabled && open() < wanted && slots.freeForTickets(batchPool) > 0) {
      const id = dependencies.randomUuid();
      const mediaJob = batchMediaJob(id, dependencies.runnerNamespace, dependencies.mark);
      slots.add({ id, attempt: 1 }, slotOfBatch);
      this.#active.set(id, batchOf(mediaJob, now()));
      try {
        await client.create(mediaJobs, mediaJob);
      } catch (error) {
        // Should it exist all the same, it is taken for one of an earlier term.
        this.remove(id);
        throw error;
      }
    }
  }

  /** The batch of a MediaJob that the cache shows. */
  store(mediaJob: MediaJob): Batch {
    const stored = batchOf(mediaJob, this.#context.now());
    const batch = this.#active.get(stored.id) ?? stored;
    this.#active.set(batch.id, batch);
    return batch;
  }

  remove(id: string): void {
    this.#active.delete(id);
    this.#context.slots.claimed.remove(id);
  }

  /** A batch could not start, so the next one could not either: what waits for one gets its tickets again. */
  async pause(): Promise<void> {
    const { now, dependencies } = this.#context;
    this.#pausedUntilMs = now() + pauseMs;
    dependencies.log.warn({ pause_ms: pauseMs }, 'batch did not start, image jobs run by themselves');
    for (const jobId of await this.waiting.read())
      await dependencies.queue.add({ jobId, attempt: 1, queue: batchQueue });
  }

  /** Whether a batch has done its share, or its slot is wanted by jobs that go first. */
  mustClose({ isClosing, createdMs, jobs }: Batch): boolean {
    const { slots, now, dependencies } = this.#context;
    const isSpent = jobs.length >= (dependencies.batches?.tasksMax ?? 0) || now() - createdMs > batchMs;
    return isClosing || isSpent || slots.mustYield(batchPool);
  }
}
