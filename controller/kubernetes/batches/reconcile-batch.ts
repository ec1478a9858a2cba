import type { AttemptEnd } from '#domain/jobs/attempts.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import { hasReason, unlessDeleted } from '#platform/kubernetes/errors.ts';
import { jobs } from '#platform/kubernetes/objects.ts';
import { refOf } from '#platform/kubernetes/store.ts';
import type { Requeue } from '#platform/kubernetes/work-queue.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { Caches } from '../cache/caches.ts';
import type { JobManifests } from '../manifests/job-manifest.ts';
import { endOfAttempt } from '../plan/attempt-end.ts';
import type { PlanSettings } from '../plan/observed.ts';
import { podProblemOf, problemAfterMs, waitingReasonOf } from '../plan/pod-problem.ts';
import type { PoolProblems } from '../pools/pool-problems.ts';
import type { PoolSlots } from '../slots/pool-slots.ts';
import type { JobSnapshot } from '../snapshots/job.ts';
import { batchJobName } from '../snapshots/names.ts';
import { type Batch, batchPool, ownerOf } from './batch.ts';
import type { Batches, BatchSettings } from './batches.ts';
import { concludeTask, type ConcludeTaskPorts } from './conclude-task.ts';

/** The ports that reconciling batches needs. */
export type BatchReconcilerPorts = ConcludeTaskPorts &
  Pick<PlanSettings, 'pendingDeadlineMs'> & {
    readonly client: Pick<KubeClient, 'create' | 'delete'>;
    readonly jobs: Pick<JobStore, 'claimedUnder' | 'recordWaitingOf'>;
    readonly caches: Pick<Caches, 'job' | 'podCreationFailures' | 'podOf' | 'pools'>;
    readonly slots: Pick<PoolSlots, 'hasCapacity' | 'running'>;
    readonly batchSettings: BatchSettings | null;
    readonly manifests: Pick<JobManifests, 'batchOf' | 'isOutdated'>;
    readonly problems: Pick<PoolProblems, 'ofBatches'>;
    readonly runnerNamespace: string;
    /** Reconciles the jobs that wait for a slot of a pool. */
    readonly wake: (pool: string) => void;
    readonly log: Logger;
    readonly now: () => number;
  };

/** A runner that has not asked for a task by then counts as one that cannot start. */
const startMsMax = 5 * 60_000;
const checkMs = 15_000;

/** Reconciles batches with their Jobs. */
export class BatchReconciler {
  readonly #ports: BatchReconcilerPorts;
  readonly #batches: Batches;

  constructor(ports: BatchReconcilerPorts, batches: Batches) {
    this.#ports = ports;
    this.#batches = batches;
  }

  async reconcile(id: string): Promise<Requeue> {
    const { caches, slots, problems, now, pendingDeadlineMs } = this.#ports;
    const batch = this.#batches.find(id);
    // It has ended, or the last leader created it too late for this one: then its runner ends.
    if (batch === undefined) return this.#deleteHeldPod(id);
    const name = batchJobName(id);
    const job = caches.job(name);
    const waitedMs = batch.askedMs === null ? now() - batch.waitsSinceMs : 0;
    if (waitedMs > Math.min(startMsMax, pendingDeadlineMs) && job?.isSuspended !== true)
      return this.#giveUp(batch, job);
    if (job === null) {
      if (slots.running.isBeingCreated(name)) return { afterMs: checkMs };
      return slots.running.isNeverCreated(name) ? this.#createJob(batch) : this.#end(batch, { kind: 'disrupted' });
    }
    const ended = endOfAttempt({ attempt: 1, job, pod: caches.podOf(name) }, now());
    if (ended !== null) return this.#end(batch, ended);
    if (waitedMs === 0) problems.ofBatches.delete(id);
    if (waitedMs > problemAfterMs && !job.isSuspended) {
      // A pool or an image that was corrected: another batch follows with the new settings.
      if (this.#isOutdated(job)) {
        await removeJob(job, this.#ports);
        return this.#end(batch, { kind: 'disrupted' });
      }
      await this.#showProblem(batch, job);
    }
    return waitedMs > 0 ? { afterMs: waitedMs > problemAfterMs ? checkMs : problemAfterMs } : undefined;
  }

  async #createJob(batch: Batch): Promise<Requeue> {
    const { caches, client, slots, batchSettings, runnerNamespace: namespace, manifests } = this.#ports;
    const name = batchJobName(batch.id);
    const spec = caches.pools.get(namespace, batchPool)?.spec;
    if (batchSettings === null || spec === undefined) return { afterMs: checkMs };
    if (!slots.hasCapacity({ pool: batchPool, isImage: true }, name)) {
      batch.waitsSinceMs = this.#ports.now();
      return { afterMs: checkMs };
    }
    const pool = { name: batchPool, spec };
    const manifest = manifests.batchOf({ id: batch.id, namespace, pool, tasks: batchSettings.tasksOf(batch.id) });
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

  async #giveUp(batch: Batch, job: JobSnapshot | null): Promise<undefined> {
    if (job !== null) await removeJob(job, this.#ports);
    return this.#end(batch, { kind: 'disrupted' }, { isFailure: true });
  }

  /** The pod of a batch has ended, or cannot start: its current task is concluded. */
  async #end(batch: Batch, ended: AttemptEnd, { isFailure = ended.kind === 'failed' } = {}): Promise<undefined> {
    const { jobs: rows, slots, problems, wake, log } = this.#ports;
    batch.isClosing = true;
    // A runner that ended well has reported the end of its task, unless no leader answered: then the manifest says it.
    const cause: AttemptEnd = ended.kind === 'done' ? { kind: 'disrupted' } : ended;
    const claimed = await rows.claimedUnder(ownerOf(batch.id));
    const [only] = claimed.length === 1 ? claimed : [];
    // The pod's exit belongs to its current task. Two overlapping requests for a task may have claimed another row.
    const currentId = batch.current?.jobId ?? only?.id;
    for (const row of claimed)
      await concludeTask(row, row.id === currentId ? cause : { kind: 'disrupted' }, this.#ports);
    if (ended.kind === 'failed') {
      const { exitCode, error } = ended;
      log.warn({ batch_id: batch.id, exit_code: exitCode, code: error?.code }, 'runner of a batch failed');
    }
    problems.ofBatches.delete(batch.id);
    this.#batches.remove(batch.id);
    await this.#deleteHeldPod(batch.id);
    const isRunning = slots.running.end(batchJobName(batch.id)) !== undefined;
    if (isRunning) wake(batchPool);
    if (isFailure && batch.isNew && batch.askedMs === null) await this.#batches.pause();
  }

  /** Deletes the Job of an ended batch whose pod an added container keeps running. Any other keeps its log. */
  async #deleteHeldPod(batchId: string): Promise<undefined> {
    const { caches } = this.#ports;
    const name = batchJobName(batchId);
    const job = caches.job(name);
    if (job !== null && caches.podOf(name)?.hasRunningSidecar === true) await removeJob(job, this.#ports);
  }

  #isOutdated({ metadata }: JobSnapshot): boolean {
    const { caches, runnerNamespace, manifests } = this.#ports;
    return manifests.isOutdated(metadata, caches.pools.get(runnerNamespace, batchPool)?.spec ?? null);
  }

  /** Shows why the pod of a batch does not start. */
  async #showProblem(batch: Batch, job: JobSnapshot): Promise<void> {
    const { caches, jobs: rows, problems, now } = this.#ports;
    const pod = caches.podOf(batchJobName(batch.id));
    const problem = podProblemOf(pod, await caches.podCreationFailures.of(job, pod === null ? [] : [pod], now()));
    if (problem === null) return void problems.ofBatches.delete(batch.id);
    problems.ofBatches.set(batch.id, { ...problem, pool: batchPool });
    // Every job that waits for a batch waits for this pod; a claim clears it.
    const waiting = await this.#batches.waiting.read();
    await rows.recordWaitingOf({ jobIds: waiting, attempt: 1 }, waitingReasonOf(problem));
  }
}

/** The ports that stopping a batch needs. */
export interface StopBatchPorts {
  readonly client: Pick<KubeClient, 'delete'>;
  readonly caches: Pick<Caches, 'job'>;
}

/** Stops the pod of a batch. Its end is noticed like any other. */
export async function stopBatch(batch: Batch, ports: StopBatchPorts): Promise<void> {
  batch.isClosing = true;
  const job = ports.caches.job(batchJobName(batch.id));
  if (job !== null) await removeJob(job, ports);
}

async function removeJob(job: JobSnapshot, { client }: Pick<StopBatchPorts, 'client'>): Promise<void> {
  const { uid = '' } = job.metadata;
  await client.delete(jobs, refOf(job), { uid, propagation: 'Background' }).catch(unlessDeleted);
}
