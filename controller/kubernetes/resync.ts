import type { Job } from '#domain/jobs/job.ts';
import { poolOfQueue } from '#domain/jobs/routing.ts';
import { isFinal } from '#domain/jobs/status.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import { hasReason } from '#platform/kubernetes/errors.ts';
import { type MediaJob, mediaJobs } from '#platform/kubernetes/objects.ts';
import type { ClaimedJobs } from './slots/claimed-jobs.ts';
import { attemptJobName, labels, mediaJobName } from './manifests/names.ts';
import type { RunningJobs } from './slots/running-jobs.ts';
import { type Caches, poolOf } from './cache/caches.ts';
import type { MediaJobDependencies } from './dependencies.ts';
import type { OwnWrites } from './cache/own-writes.ts';
import { leaseOwner } from './reconcile/settle.ts';

/** A MediaJob that was made shows in the cache within this; else it is taken for gone. */
const creationMs = 15_000;
/** How long one that could not be made again waits. */
const orphanRetryMs = 5_000;

interface HeldSweepOptions {
  readonly d: MediaJobDependencies;
  readonly client: KubeClient;
  readonly caches: Caches;
  readonly held: ClaimedJobs;
  readonly working: RunningJobs;
  readonly ownWrites: OwnWrites;
  readonly now: () => number;
  /** Whether the MediaJob of a job was deleted, and that is not settled yet. */
  readonly isGone: (jobId: string) => boolean;
  /** A MediaJob is to be looked at, by its key. */
  readonly look: (key: string) => void;
}

/** Compares what Postgres says is held with the MediaJobs that are there, and makes those that are not. */
export class Resync {
  readonly #o: HeldSweepOptions;
  /** When a MediaJob was asked for that the cache does not show yet, by job id. */
  readonly #creating = new Map<string, number>();

  constructor(options: HeldSweepOptions) {
    this.#o = options;
  }

  /** The cache shows the MediaJob of a job. */
  seen(jobId: string): void {
    this.#creating.delete(jobId);
  }

  /** Makes the MediaJob of a job that was just claimed, unless it is being made. */
  async make(job: Job): Promise<void> {
    if (this.#creating.has(job.id)) return;
    this.#creating.set(job.id, this.#o.now());
    try {
      await this.#create(job);
    } catch (error) {
      this.#creating.delete(job.id);
      throw error;
    }
  }

  /** Looks at every held job once. */
  async sweep(): Promise<void> {
    const { d, caches, held, working, look } = this.#o;
    const before = new Set(held.ids);
    const orphans: string[] = [];
    await held.refresh(async () => {
      const rows = await d.jobs.heldBy(leaseOwner);
      return rows.map(({ id, queue, attempt, progress }) => {
        const key = caches.keyOfJob(id);
        const seen = key === undefined ? undefined : caches.mediaJob(key);
        if (key === undefined) orphans.push(id);
        else if (this.#isBehind(key, seen, { id, attempt, progress })) look(key);
        return { id, pool: poolOf(seen, queue), isSuspended: seen?.spec.suspend === true };
      });
    });
    for (const id of before) {
      const key = held.has(id) ? undefined : caches.keyOfJob(id);
      // Cancelled, or given up by somebody else.
      if (key !== undefined) look(key);
    }
    working.forgetUnmade((jobId) => held.has(jobId));
    for (const id of orphans) await this.#restore(id);
  }

  /** Whether the row has gone on in a way that nothing but this sweep tells of. */
  #isBehind(
    key: string,
    seen: MediaJob | undefined,
    row: { readonly id: string; readonly attempt: number; readonly progress: number },
  ): boolean {
    const { caches, ownWrites, now } = this.#o;
    if (seen?.status?.attempt !== row.attempt) return caches.job(attemptJobName(row)) === null;
    return row.progress - (seen.status.progress ?? 0) >= 5 && ownWrites.sinceMs(key, now()) >= 5_000;
  }

  /**
   * A held job without a MediaJob: whoever claimed it did not get to making it, or it was deleted while nobody looked.
   * It goes on in a new attempt, since pods of the old one may still be writing.
   */
  async #restore(jobId: string): Promise<void> {
    const { d, working, now, isGone } = this.#o;
    const sinceMs = this.#creating.get(jobId);
    if ((sinceMs !== undefined && now() - sinceMs < creationMs) || isGone(jobId)) return;
    const row = await d.jobs.find(jobId);
    if (row === null || isFinal(row.status)) return;
    d.log.warn({ job_id: jobId, attempt: row.attempt }, 'a held job has no MediaJob; it goes on in a new attempt');
    this.#creating.set(jobId, now() - creationMs + orphanRetryMs);
    // Made first: while the namespace is away, nothing else is worth doing.
    await this.#create(row);
    const given = { jobId, attempt: row.attempt, countsAsFailure: false, delayMs: 0 };
    const next = await d.jobs.nextAttempt(given);
    if (next === null) return;
    const claim = { jobId, attempt: next.attempt, owner: leaseOwner, leaseMs: Infinity };
    if ((await d.jobs.claim(claim)) !== null) {
      working.claim(attemptJobName({ id: jobId, attempt: next.attempt }), jobId);
    }
  }

  /** One that is there already is no error: the cache will show it. */
  async #create({ id, type, hash, source, options, queue }: Job): Promise<void> {
    const pool = poolOfQueue[queue];
    const metadata = {
      namespace: this.#o.d.runnerNamespace,
      name: mediaJobName(id),
      labels: { [labels.jobId]: id, [labels.pool]: pool },
    };
    // The webhook is the row's matter: its address may hold a secret of the caller's.
    const spec = { type, hash, source, options, pool };
    await this.#o.client.create(mediaJobs, { metadata, spec }).catch((error: unknown) => {
      if (!hasReason(error, 'AlreadyExists')) throw error;
    });
  }
}
