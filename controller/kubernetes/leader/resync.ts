import type { Job } from '#domain/jobs/job.ts';
import { isFinal } from '#domain/jobs/status.ts';
import { hasReason, unlessDeleted } from '#platform/kubernetes/errors.ts';
import { type MediaJob, mediaJobs } from '#platform/kubernetes/objects.ts';
import { keyOf } from '#platform/kubernetes/store.ts';
import type { Batches } from '../batches/batches.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import type { WorkQueue } from '#platform/kubernetes/work-queue.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { Caches } from '../cache/caches.ts';
import type { OwnWrites } from '../cache/own-writes.ts';
import type { OwnMark } from '../manifests/own-mark.ts';
import type { PoolSlots } from '../slots/pool-slots.ts';
import type { Followers } from './followers.ts';
import { attemptJobName, labels, mediaJobName } from '../snapshots/names.ts';
import { leaseOwner } from '../slots/claimed-jobs.ts';
import { claimOf, poolOf } from '../snapshots/routing.ts';
import { isOfApiJob } from '../snapshots/media-job.ts';

/** A created MediaJob appears in the cache within this time; else it counts as deleted. */
const creationMs = 15_000;
/** The delay before a MediaJob whose creation failed is created again. */
const creationRetryMs = 5_000;

interface ResyncPorts {
  readonly client: Pick<KubeClient, 'create' | 'delete'>;
  readonly jobs: Pick<JobStore, 'claim' | 'find' | 'claimedBy' | 'nextAttempt' | 'statesOf'>;
  readonly caches: Pick<Caches, 'isDeletionPending' | 'job' | 'keyOfJob' | 'mediaJob'>;
  readonly slots: Pick<PoolSlots, 'claimed' | 'running'>;
  readonly ownWrites: Pick<OwnWrites, 'sinceMs'>;
  readonly followers: Pick<Followers, 'changed' | 'jobIds'>;
  readonly workQueue: Pick<WorkQueue, 'add'>;
  readonly mark: OwnMark;
  readonly runnerNamespace: string;
  readonly log: Logger;
  readonly now: () => number;
}

/** Compares the claimed jobs in Postgres with the MediaJobs of the cache, and creates the missing ones. */
export class Resync {
  readonly #ports: ResyncPorts;
  readonly #batches: Pick<Batches, 'claims'>;
  /** When the creation of a MediaJob was requested that the cache does not show yet, by job id. */
  readonly #requestedMs = new Map<string, number>();

  constructor(ports: ResyncPorts, batches: Pick<Batches, 'claims'>) {
    this.#ports = ports;
    this.#batches = batches;
  }

  /** The cache shows the MediaJob of a job. */
  mediaJobExists(jobId: string): void {
    this.#requestedMs.delete(jobId);
  }

  /** Creates the MediaJob of a job that was just claimed, unless its creation was requested before. */
  async createMediaJob(job: Job): Promise<void> {
    if (this.#requestedMs.has(job.id)) return;
    this.#requestedMs.set(job.id, this.#ports.now());
    try {
      await this.#create(job);
    } catch (error) {
      this.#requestedMs.delete(job.id);
      throw error;
    }
  }

  /** Checks every claimed job once. */
  async run(): Promise<void> {
    const { jobs, caches, slots, workQueue } = this.#ports;
    const { claimed, running } = slots;
    const claimedBefore = [...claimed.ids];
    const orphans: string[] = [];
    await claimed.refresh(async () => {
      const rows = await jobs.claimedBy(leaseOwner);
      const claims = rows.map((row) => {
        const key = caches.keyOfJob(row.id);
        const mediaJob = key === undefined ? undefined : caches.mediaJob(key);
        if (key === undefined) orphans.push(row.id);
        else if (this.#isBehind(key, mediaJob, row)) workQueue.add(key);
        return { id: row.id, ...claimOf(mediaJob, row) };
      });
      return [...claims, ...this.#batches.claims()];
    });
    for (const id of claimedBefore) {
      const key = claimed.has(id) ? undefined : caches.keyOfJob(id);
      // Cancelled, or released by another process.
      if (key !== undefined) workQueue.add(key);
    }
    running.forgetUnclaimed((jobId) => claimed.has(jobId));
    await this.#wakeFollowers();
    for (const id of orphans) await this.#restore(id);
  }

  async #wakeFollowers(): Promise<void> {
    const { jobs, followers, workQueue } = this.#ports;
    const ids = followers.jobIds();
    if (ids.length === 0) return;
    for (const key of followers.changed(await jobs.statesOf(ids))) workQueue.add(key);
  }

  /** Whether the row has changed in a way that no watch reports. */
  #isBehind(key: string, mediaJob: MediaJob | undefined, row: Pick<Job, 'id' | 'attempt' | 'progress'>): boolean {
    const { caches, ownWrites, now } = this.#ports;
    if (mediaJob?.status?.attempt !== row.attempt) return caches.job(attemptJobName(row)) === null;
    return row.progress - (mediaJob.status.progress ?? 0) >= 5 && ownWrites.sinceMs(key, now()) >= 5_000;
  }

  /**
   * Continues a claimed job that has no MediaJob: its leader died before it created one, or it was deleted while no
   * leader watched. It continues in a new attempt, since pods of the old one may still be writing.
   */
  async #restore(jobId: string): Promise<void> {
    const { jobs, caches, slots, log, now } = this.#ports;
    const requestedMs = this.#requestedMs.get(jobId);
    const isBeingCreated = requestedMs !== undefined && now() - requestedMs < creationMs;
    if (isBeingCreated || caches.isDeletionPending(jobId)) return;
    const row = await jobs.find(jobId);
    if (row === null || isFinal(row.status)) return;
    this.#requestedMs.set(jobId, now() - creationMs + creationRetryMs);
    // Before the new attempt: while the namespace does not exist, this fails and costs nothing.
    await this.#create(row);
    log.warn({ job_id: jobId, attempt: row.attempt }, 'MediaJob missing, job continues in a new attempt');
    const next = await jobs.nextAttempt({ jobId, attempt: row.attempt, countsAsFailure: false, delayMs: 0 });
    if (next === null) return;
    const claim = { jobId, attempt: next.attempt, owner: leaseOwner, leaseMs: Infinity };
    if ((await jobs.claim(claim)) === null) return;
    slots.running.claim(attemptJobName({ id: jobId, attempt: next.attempt }), jobId);
  }

  /** Whether a stranger's MediaJob had a name of the controller, and was removed. */
  async #removeForeign(ref: { namespace: string; name: string }): Promise<boolean> {
    const { client, caches, log } = this.#ports;
    const existing = caches.mediaJob(keyOf({ metadata: ref }));
    if (existing === undefined || isOfApiJob(existing)) return false;
    log.warn({ name: ref.name }, 'foreign MediaJob with a reserved name removed');
    const uid = existing.metadata?.uid ?? '';
    await client.delete(mediaJobs, ref, { uid, propagation: 'Background' }).catch(unlessDeleted);
    return true;
  }

  /** An existing one of the controller is no error: the cache will show it. */
  async #create(job: Job): Promise<void> {
    const { id, type, hash, source, options, priority, profile } = job;
    const pool = poolOf(undefined, job);
    const metadata = {
      namespace: this.#ports.runnerNamespace,
      name: mediaJobName(id),
      labels: { [labels.jobId]: id, [labels.pool]: pool },
      annotations: this.#ports.mark.annotationsFor(id),
    };
    // Without the webhook: its address may hold a secret of the caller, and Postgres has it.
    const spec = {
      type,
      hash,
      source,
      options,
      pool,
      priority,
      ...(profile === null ? {} : { profile: profile.name }),
    };
    const { client } = this.#ports;
    await client.create(mediaJobs, { metadata, spec }).catch(async (error: unknown) => {
      if (!hasReason(error, 'AlreadyExists')) throw error;
      if (await this.#removeForeign(metadata)) await client.create(mediaJobs, { metadata, spec });
    });
  }
}
