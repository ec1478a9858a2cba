import type { MediaJob, RunnerPool } from '#platform/kubernetes/objects.ts';
import { keyOf } from '#platform/kubernetes/store.ts';
import type { CacheListener } from '../cache/caches.ts';
import type { WorkQueue } from '#platform/kubernetes/work-queue.ts';
import type { OwnWrites } from '../cache/own-writes.ts';
import type { PoolSlots } from '../slots/pool-slots.ts';
import type { Followers } from './followers.ts';
import { idOfRun, labels } from '../snapshots/names.ts';
import type { Resync } from './resync.ts';
import { endOfJob, type JobSnapshot, podsMaxOf } from '../snapshots/job.ts';
import { hasEnded, ownJobIdOf } from '../snapshots/media-job.ts';
import { isImageType } from '../snapshots/routing.ts';

interface CacheEventsPorts {
  readonly slots: Pick<PoolSlots, 'claimed' | 'running' | 'unprefer'>;
  readonly ownWrites: Pick<OwnWrites, 'arrived' | 'forget'>;
  readonly followers: Pick<Followers, 'forget'>;
  readonly workQueue: Pick<WorkQueue, 'add'>;
  readonly resync: Pick<Resync, 'mediaJobExists'>;
  readonly profileWork: { changed(): void };
  readonly rolloutWork: { changed(): void };
  /** Reconciles the jobs that wait for a slot of a pool. */
  readonly wake: (pool: string) => void;
  /** A RunnerPool was deleted. */
  readonly poolDeleted: (name: string) => void;
}

/** Carries changes of the caches into the slots and the work queue. */
export class CacheEvents implements CacheListener {
  readonly #ports: CacheEventsPorts;

  constructor(ports: CacheEventsPorts) {
    this.#ports = ports;
  }

  reconcile(key: string): void {
    this.#ports.workQueue.add(key);
  }

  mediaJobStored(mediaJob: MediaJob): boolean {
    const { slots, ownWrites } = this.#ports;
    const jobId = ownJobIdOf(mediaJob);
    this.#ports.resync.mediaJobExists(jobId);
    const isOwnWrite = ownWrites.arrived(mediaJob);
    const { metadata, spec, status } = mediaJob;
    const pool = spec.pool ?? metadata?.labels?.[labels.pool] ?? status?.pool;
    if (pool !== undefined && slots.claimed.has(jobId)) {
      const isImage = isImageType(spec.type);
      slots.claimed.set(jobId, { pool, isSuspended: spec.suspend === true, priority: spec.priority ?? 0, isImage });
    }
    return !isOwnWrite;
  }

  mediaJobDeleted(mediaJob: MediaJob): boolean {
    this.#ports.ownWrites.forget(mediaJob);
    this.#ports.followers.forget(keyOf(mediaJob));
    this.#ports.slots.unprefer(ownJobIdOf(mediaJob));
    return !hasEnded(mediaJob);
  }

  jobStored(job: JobSnapshot): void {
    const { name = '', labels: own = {} } = job.metadata;
    const { claimed, running } = this.#ports.slots;
    const jobId = idOfRun(job.metadata);
    const mayRun = endOfJob(job) === null && claimed.has(jobId);
    const pool = own[labels.pool] ?? '';
    if (running.show(name, { jobId, pool, mayRun, pods: podsMaxOf(job) })) this.#ports.wake(pool);
  }

  jobActivity(name: string, mayRun: boolean): void {
    const { running } = this.#ports.slots;
    if (mayRun || running.isBeingCreated(name)) return;
    const pool = running.end(name);
    if (pool !== undefined) this.#ports.wake(pool);
  }

  poolChanged(pool: string): void {
    this.#ports.slots.claimed.announce();
    this.#ports.wake(pool);
  }

  poolDeleted({ metadata }: RunnerPool): void {
    this.#ports.slots.claimed.announce();
    this.#ports.poolDeleted(metadata?.name ?? '');
  }

  profilesChanged(): void {
    this.#ports.profileWork.changed();
  }

  rolloutsChanged(): void {
    this.#ports.rolloutWork.changed();
  }
}
