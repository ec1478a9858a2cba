import type { AttemptEnd } from '#domain/jobs/attempts.ts';
import { hasReason } from '#platform/kubernetes/errors.ts';
import { jobs, type MediaJob, mediaJobs } from '#platform/kubernetes/objects.ts';
import { keyOf } from '#platform/kubernetes/store.ts';
import type { Requeue } from '#platform/kubernetes/work-queue.ts';
import { type LeaderContext, wakeWaiting } from '../leader-context.ts';
import { endOfAttempt } from '../reconcile/attempt-end.ts';
import { problemAfterMs } from '../reconcile/plan-waiting.ts';
import { podProblemOf } from '../reconcile/pod-problem.ts';
import { recordProblem, refOf, unlessDeleted, writeStatus } from '../reconcile/write-status.ts';
import { hasEnded, type JobSnapshot } from '../snapshots.ts';
import { type Batch, batchJobName, batchPool, ownerOf } from './batch.ts';
import { batchManifest } from './batch-manifest.ts';
import { activeBatchStatus, type BatchFailure, endedBatchStatus } from './batch-status.ts';
import type { Batches } from './batches.ts';
import { concludeTask } from './conclude-task.ts';

/** A runner that has not asked for a task by then counts as one that cannot start. */
const startMsMax = 5 * 60_000;
const checkMs = 15_000;

interface ShownBatch {
  readonly batch: Batch;
  readonly mediaJob: MediaJob;
}

/** Reconciles the MediaJobs of batches. */
export class BatchReconciler {
  readonly #context: LeaderContext;
  readonly #batches: Batches;

  constructor(context: LeaderContext, batches: Batches) {
    this.#context = context;
    this.#batches = batches;
  }

  async reconcile(key: string): Promise<Requeue> {
    const { caches, ownWrites, slots, now, dependencies } = this.#context;
    const mediaJob = ownWrites.newest(key, caches.mediaJob(key));
    if (mediaJob === undefined || mediaJob.metadata?.deletionTimestamp !== undefined) return undefined;
    if (hasEnded(mediaJob)) return removeEnded(mediaJob, this.#context);
    const batch = this.#batches.store(mediaJob);
    const name = batchJobName(batch.id);
    const job = caches.job(name);
    const waitedMs = batch.askedMs === null ? now() - batch.waitsSinceMs : 0;
    if (waitedMs > Math.min(startMsMax, dependencies.pendingDeadlineMs) && job?.isSuspended !== true)
      return this.#giveUp({ batch, mediaJob }, job);
    if (job === null) {
      if (slots.running.isBeingCreated(name)) return undefined;
      // It was deleted, or the last leader did not get to it.
      if (!slots.running.isNeverCreated(name)) return this.#end({ batch, mediaJob }, { kind: 'disrupted' }, null);
      return this.#createJob(batch, mediaJob);
    }
    const ended = endOfAttempt({ attempt: 1, job, pod: caches.podOf(name) }, now());
    if (ended !== null) return this.#end({ batch, mediaJob }, ended, failureOf(ended));
    if (mediaJob.spec.suspend === true) batch.isClosing = true;
    if (waitedMs > problemAfterMs && !job.isSuspended) await this.#showProblem(batch, mediaJob);
    return waitedMs > 0 ? { afterMs: waitedMs > problemAfterMs ? checkMs : problemAfterMs } : undefined;
  }

  async #createJob(batch: Batch, mediaJob: MediaJob): Promise<Requeue> {
    const { caches, client, slots, dependencies } = this.#context;
    const { batches: settings, runnerNamespace, template } = dependencies;
    const name = batchJobName(batch.id);
    const spec = caches.pools.get(runnerNamespace, batchPool)?.spec;
    if (settings === null || spec === undefined || mediaJob.spec.suspend === true) return { afterMs: checkMs };
    if (!slots.hasCapacity(batchPool, name)) {
      batch.waitsSinceMs = this.#context.now();
      return { afterMs: checkMs };
    }
    const tasks = settings.tasksOf(batch.id);
    const manifest = batchManifest({ id: batch.id, mediaJob, pool: { name: batchPool, spec }, tasks }, template);
    slots.running.beginCreation(name, { jobId: batch.id, pool: batchPool });
    try {
      await client.create(jobs, manifest);
    } catch (error) {
      if (hasReason(error, 'AlreadyExists')) return undefined;
      slots.running.failCreation(name, batch.id);
      throw error;
    }
    return { afterMs: problemAfterMs };
  }

  async #giveUp(shown: ShownBatch, job: JobSnapshot | null): Promise<undefined> {
    if (job !== null) await removeJob(job, this.#context);
    const message = 'Its runner has not asked for a task. Image jobs run by themselves for ten minutes.';
    return this.#end(shown, { kind: 'disrupted' }, { reason: 'BatchNotStarted', message });
  }

  /** The pod of a batch is over, or cannot start: what it was at is concluded, and the MediaJob shows its end. */
  async #end({ batch, mediaJob }: ShownBatch, ended: AttemptEnd, failure: BatchFailure | null): Promise<undefined> {
    const { dependencies, slots, now } = this.#context;
    batch.isClosing = true;
    // A runner that ended well has reported what it was at, unless no leader answered: then the manifest says it.
    const cause: AttemptEnd = ended.kind === 'done' ? { kind: 'disrupted' } : ended;
    for (const row of await dependencies.jobs.heldUnder(ownerOf(batch.id))) {
      const result = await concludeTask(row, cause, dependencies);
      batch.ended += 1;
      if (result !== 'completed') batch.failed += 1;
    }
    await writeStatus(mediaJob, endedBatchStatus({ mediaJob, batch, nowMs: now() }, failure), this.#context);
    this.#batches.remove(batch.id);
    const isRunning = slots.running.end(batchJobName(batch.id)) !== undefined;
    if (isRunning) wakeWaiting(batchPool, this.#context);
    if (failure !== null && batch.askedMs === null && batch.ended === 0) await this.#batches.pause();
  }

  /** Shows why the pod of a batch does not start. */
  async #showProblem(batch: Batch, mediaJob: MediaJob): Promise<void> {
    const { caches, now } = this.#context;
    const problem = podProblemOf(caches.podOf(batchJobName(batch.id)), null);
    const shown = mediaJob.status?.conditions?.find(({ type }) => type === 'Progressing')?.reason;
    if (problem === null || shown === problem.reason) return;
    await writeStatus(mediaJob, activeBatchStatus({ mediaJob, batch, nowMs: now() }, problem), this.#context);
    recordProblem({ mediaJob, pool: { name: batchPool, spec: null } }, problem, this.#context);
  }
}

function failureOf(ended: AttemptEnd): BatchFailure | null {
  if (ended.kind !== 'failed') return null;
  const message = ended.error?.message ?? `Its runner ended with ${ended.exitCode ?? 'a signal'}.`;
  return { reason: 'RunnerFailed', message };
}

/** Stops the pod of a batch. Its end is noticed like any other. */
export async function stopBatch(batch: Batch, context: LeaderContext): Promise<void> {
  batch.isClosing = true;
  const job = context.caches.job(batchJobName(batch.id));
  if (job !== null) await removeJob(job, context);
}

async function removeJob(job: JobSnapshot, { client }: LeaderContext): Promise<void> {
  const { uid = '' } = job.metadata;
  await client.delete(jobs, refOf(job), { uid, propagation: 'Background' }).catch(unlessDeleted);
}

async function removeEnded(mediaJob: MediaJob, { client, dependencies, now }: LeaderContext): Promise<Requeue> {
  const endedMs = Date.parse(mediaJob.status?.completionTime ?? '') || 0;
  const ttlMs = endedMs + dependencies.mediaJobTtlMs - now();
  if (ttlMs > 0) return { afterMs: ttlMs };
  const { uid = '' } = mediaJob.metadata ?? {};
  await client.delete(mediaJobs, refOf(mediaJob), { uid, propagation: 'Background' }).catch(unlessDeleted);
  return undefined;
}

/** How often the status of a batch that runs is written. */
const statusEveryMs = 10_000;

/** Shows what a batch has done, if that has changed since its status was written. */
export async function showBatch(batch: Batch, context: LeaderContext): Promise<void> {
  const { caches, ownWrites, now } = context;
  const key = keyOf({ metadata: { namespace: context.dependencies.runnerNamespace, name: `mj-${batch.id}` } });
  const mediaJob = ownWrites.newest(key, caches.mediaJob(key));
  if (mediaJob === undefined || hasEnded(mediaJob) || batch.askedMs === null) return;
  if (mediaJob.status?.batch?.ended === batch.ended || ownWrites.sinceMs(key, now()) < statusEveryMs) return;
  await writeStatus(mediaJob, activeBatchStatus({ mediaJob, batch, nowMs: now() }, null), context);
}
