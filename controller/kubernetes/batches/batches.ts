import type { Job } from '#domain/jobs/job.ts';
import type { Ticket } from '#domain/jobs/ticket.ts';
import { batchable, isBatchable } from '#domain/work/batchable.ts';
import type { WorkQueue } from '#platform/kubernetes/work-queue.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { TicketQueue } from '#platform/queue/ticket-queue.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { Caches } from '../cache/caches.ts';
import type { KeyInTurn } from '../../execution/pool-turns.ts';
import { batchMs } from '../manifests/batch-manifest.ts';
import { leaseOwner } from '../slots/claimed-jobs.ts';
import type { PoolSlots } from '../slots/pool-slots.ts';
import { endOfJob, type JobSnapshot } from '../snapshots/job.ts';
import { batchJobName, batchKey, idOfRun } from '../snapshots/names.ts';
import type { ClaimedJob } from '../snapshots/routing.ts';
import { type Batch, batchPool } from './batch.ts';
import { WaitingImages, type WaitingImagesPorts } from './waiting-images.ts';

/** When image jobs make a batch. */
export interface BatchSettings {
  /** So many image jobs at once make a batch. */
  readonly min: number;
  /** The most jobs of a batch. */
  readonly tasksMax: number;
  /** The address at which the runner of a batch asks for its tasks, and its token. */
  readonly tasksOf: (batchId: string) => { url: string; token: string };
}

/** The ports that the register of batches needs. */
export interface BatchesPorts extends WaitingImagesPorts {
  readonly jobs: WaitingImagesPorts['jobs'] & Pick<JobStore, 'countClaimed'>;
  readonly queue: Pick<TicketQueue, 'add'>;
  readonly caches: Pick<Caches, 'batchJobs' | 'keyOfJob'>;
  readonly slots: Pick<PoolSlots, 'claimed' | 'freeForImages' | 'freeForTickets' | 'mustYield' | 'running'>;
  readonly workQueue: Pick<WorkQueue, 'add'>;
  /** Null: every image job has a Job of its own. */
  readonly batchSettings: BatchSettings | null;
  readonly randomUuid: () => string;
  readonly log: Logger;
}

/** Waiting jobs for each further pod; they take about as long as the pod's start. */
const jobsPerPod = 25;
/** For how long image jobs run by themselves after a batch could not start. */
const pauseMs = 10 * 60_000;

/** How many pods so many waiting images are worth. */
function podsFor(images: number): number {
  return Math.ceil(images / jobsPerPod);
}

const slotOfBatch: ClaimedJob = { pool: batchPool, isSuspended: false, priority: 0, isImage: true };

/** The batches of one term that have not ended: each has a slot of the pool `default`. */
export class Batches {
  readonly waiting: WaitingImages;
  readonly #ports: BatchesPorts;
  readonly #active = new Map<string, Batch>();
  #pausedUntilMs = 0;
  /** Whether a job may wait that was left to batches, and has no ticket. */
  #hasLeft = false;

  constructor(ports: BatchesPorts) {
    this.#ports = ports;
    this.waiting = new WaitingImages(ports);
  }

  /** Continues the batches of earlier terms. */
  begin(): void {
    for (const job of this.#ports.caches.batchJobs()) if (endOfJob(job) === null) this.resume(job);
  }

  get isEnabled(): boolean {
    return this.#ports.batchSettings !== null && this.#ports.now() >= this.#pausedUntilMs;
  }

  /** The slots that batches take in addition to claimed rows. */
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
    return this.isEnabled && isBatchable(job);
  }

  /**
   * Whether the job of a ticket is left to the batches; makes another batch where it is worth it. A job without a
   * ticket is not lost: batches look for rows, and the sweeper adds the ticket again.
   */
  async leaves({ jobId, attempt, queue, priority = 0 }: Ticket): Promise<boolean> {
    const { jobs, batchSettings: batches } = this.#ports;
    if (!this.isEnabled || batches === null || !isBatchable({ attempt, queue, priority })) return false;
    const waiting = await this.waiting.countWith(jobId);
    if (waiting === 0) return false;
    if (this.#active.size === 0) {
      const alone = await jobs.countClaimed(leaseOwner, batches.min);
      if (waiting + alone < batches.min) return false;
    }
    this.#hasLeft = true;
    this.#addFor(waiting);
    return true;
  }

  /** Makes a batch for jobs that were left to one and that none has taken. */
  async addForLeft(): Promise<void> {
    if (!this.#hasLeft || !this.isEnabled) return;
    const { length } = await this.waiting.read();
    if (length === 0) this.#hasLeft = this.#active.size > 0;
    else this.#addFor(length, await this.#slotsOfOthers());
  }

  /** How many of the free slots are left to admission: it is the turn of a key without images. */
  async #slotsOfOthers(): Promise<number> {
    if (this.#ports.slots.freeForTickets(batchPool) === 0) return 0;
    return (await this.waiting.isTurnOfOthers()) ? 1 : 0;
  }

  /** Makes batches for so many waiting jobs, while the pool has slots. Their reconciles create their Jobs. */
  #addFor(jobsWaiting: number, slotsLeft = 0): void {
    const { slots, workQueue, randomUuid, now } = this.#ports;
    while (this.#countOpen() < podsFor(jobsWaiting) && slots.freeForImages(batchPool) > slotsLeft) {
      const id = randomUuid();
      slots.claimed.set(id, slotOfBatch);
      slots.running.claim(batchJobName(id), id);
      this.#store(id, { createdMs: now(), isNew: true });
      workQueue.add(batchKey(id));
    }
  }

  #countOpen(): number {
    return this.all().filter(({ isClosing }) => !isClosing).length;
  }

  /** Whether the first job of a key is an image for which the batches that run are enough: it wants no slot. */
  isServed(pool: string, { ticket }: KeyInTurn): boolean {
    if (pool !== batchPool || ticket === null || !this.isEnabled) return false;
    const { attempt, queue, priority = 0 } = ticket;
    const open = this.#countOpen();
    return open > 0 && isBatchable({ attempt, queue, priority }) && podsFor(this.waiting.count) <= open;
  }

  /** Continues the batch of a Job, or concludes what it left. */
  resume({ metadata }: JobSnapshot): void {
    const id = idOfRun(metadata);
    this.#store(id, { createdMs: Date.parse(metadata.creationTimestamp ?? ''), isNew: false });
    this.#ports.workQueue.add(batchKey(id));
  }

  #store(id: string, begin: Pick<Batch, 'createdMs' | 'isNew'>): void {
    const waitsSinceMs = this.#ports.now();
    this.#active.set(id, { id, ...begin, waitsSinceMs, askedMs: null, current: null, tasks: 0, isClosing: false });
  }

  remove(id: string): void {
    this.#active.delete(id);
    this.#ports.slots.claimed.remove(id);
  }

  /** A batch could not start, so the next one could not either: what waits for one gets its tickets again. */
  async pause(): Promise<void> {
    const { now, queue, log } = this.#ports;
    this.#pausedUntilMs = now() + pauseMs;
    log.warn({ pause_ms: pauseMs }, 'batch did not start, image jobs run by themselves');
    for (const jobId of await this.waiting.read()) await queue.add({ jobId, attempt: 1, queue: batchable.queue });
  }

  /** Whether a batch has done its share, or its slot is wanted by jobs that go first. */
  async mustClose({ isClosing, createdMs, tasks }: Batch): Promise<boolean> {
    const { slots, now, batchSettings } = this.#ports;
    const isSpent = tasks >= (batchSettings?.tasksMax ?? 0) || now() - createdMs > batchMs;
    if (isClosing || isSpent) return true;
    // One that closes frees the slot that is wanted.
    const isWanted = !this.all().some((batch) => batch.isClosing) && (await this.waiting.isTurnOfOthers());
    return slots.mustYield(batchPool, isWanted);
  }
}
