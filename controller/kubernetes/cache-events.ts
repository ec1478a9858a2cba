import type { MediaJob, RunnerPool } from '#platform/kubernetes/objects.ts';
import { keyOf } from '#platform/kubernetes/store.ts';
import type { CacheListener } from './cache/caches.ts';
import { type LeaderContext, wakeWaiting } from './leader-context.ts';
import { labels } from './manifests/names.ts';
import type { Resync } from './resync.ts';
import { endOfJob, hasEnded, jobIdOf, type JobSnapshot, podsMaxOf } from './snapshots.ts';

interface Reactions {
  readonly resync: Resync;
  readonly ensurePools: () => void;
  readonly profiles: { changed(): void };
}

/** Carries changes of the caches into the slots and the work queue. */
export class CacheEvents implements CacheListener {
  readonly #context: LeaderContext;
  readonly #resync: Resync;
  readonly #ensurePools: () => void;
  readonly #profiles: Reactions['profiles'];

  constructor(context: LeaderContext, { resync, ensurePools, profiles }: Reactions) {
    this.#context = context;
    this.#resync = resync;
    this.#ensurePools = ensurePools;
    this.#profiles = profiles;
  }

  reconcile(key: string): void {
    this.#context.queue.add(key);
  }

  mediaJobStored(mediaJob: MediaJob): boolean {
    const { slots, ownWrites } = this.#context;
    const jobId = jobIdOf(mediaJob);
    this.#resync.mediaJobExists(jobId);
    const isOwnWrite = ownWrites.arrived(mediaJob);
    const { metadata, spec, status } = mediaJob;
    const pool = spec.pool ?? metadata?.labels?.[labels.pool] ?? status?.pool;
    if (pool !== undefined && slots.claimed.has(jobId)) {
      slots.claimed.set(jobId, { pool, isSuspended: spec.suspend === true, priority: spec.priority ?? 0 });
    }
    return !isOwnWrite;
  }

  mediaJobDeleted(mediaJob: MediaJob): boolean {
    this.#context.ownWrites.forget(mediaJob);
    this.#context.followers.forget(keyOf(mediaJob));
    this.#context.slots.unprefer(jobIdOf(mediaJob));
    return !hasEnded(mediaJob);
  }

  jobStored(job: JobSnapshot): void {
    const { name = '', labels: own = {} } = job.metadata;
    const { claimed, running } = this.#context.slots;
    const jobId = own[labels.jobId] ?? '';
    const mayRun = endOfJob(job) === null && claimed.has(jobId);
    const pool = own[labels.pool] ?? '';
    if (running.show(name, { jobId, pool, mayRun, pods: podsMaxOf(job) })) wakeWaiting(pool, this.#context);
  }

  jobActivity(name: string, mayRun: boolean): void {
    const { running } = this.#context.slots;
    if (mayRun || running.isBeingCreated(name)) return;
    const pool = running.end(name);
    if (pool !== undefined) wakeWaiting(pool, this.#context);
  }

  poolChanged(pool: string): void {
    this.#context.slots.claimed.announce();
    wakeWaiting(pool, this.#context);
  }

  poolDeleted({ metadata }: RunnerPool): void {
    const { slots, dependencies } = this.#context;
    slots.claimed.announce();
    if (metadata?.name !== undefined && metadata.name in dependencies.pools) this.#ensurePools();
  }

  profilesChanged(): void {
    this.#profiles.changed();
  }
}
