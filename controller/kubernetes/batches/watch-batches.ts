import { jobErrorOf } from '#domain/job-error.ts';
import { exitCodes } from '#domain/exit-codes.ts';
import { pause } from '#platform/lifecycle/backoff.ts';
import type { BatchedJob } from '#platform/postgres/batch-rows.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { Caches } from '../cache/caches.ts';
import { activeDeadlineSecondsOf } from '../manifests/job-template.ts';
import { batchJobName } from '../snapshots/names.ts';
import { type Batch, batchPool, ownerOf, ownerPrefix } from './batch.ts';
import type { Batches, BatchSettings } from './batches.ts';
import { concludeTask, type ConcludeTaskPorts } from './conclude-task.ts';
import { stopBatch, type StopBatchPorts } from './reconcile-batch.ts';

/** The ports that looking after batches needs. */
export type WatchBatchesPorts = StopBatchPorts &
  ConcludeTaskPorts & {
    readonly jobs: Pick<JobStore, 'claimedUnder'>;
    readonly caches: Pick<Caches, 'job' | 'pools'>;
    readonly batchSettings: BatchSettings | null;
    readonly storageWatch: { readonly isAway: boolean };
    readonly runnerNamespace: string;
    readonly log: Logger;
    readonly now: () => number;
  };

const everyMs = 1_000;
/** Without batches, rows that one has left behind are looked for this often. */
const idleEveryMs = 10_000;
/** A brief task whose job was cancelled ends by itself; a longer one is stopped with its pod. */
const cancelAfterMs = 2_000;

/**
 * Polls for what no request and no watch reports, until `signal` aborts: cancelled jobs, jobs past their deadline, rows
 * of deleted batches, and waiting jobs without a batch.
 */
export async function watchBatches(ports: WatchBatchesPorts, batches: Batches, signal: AbortSignal): Promise<void> {
  const { batchSettings, log, now } = ports;
  if (batchSettings === null) return;
  let dueMs = 0;
  while (!signal.aborted) {
    if (batches.all().length > 0 || now() >= dueMs) {
      dueMs = now() + idleEveryMs;
      await look(ports, batches).catch((error: unknown) => {
        if (!signal.aborted) log.warn({ err: error }, 'batches could not be checked');
      });
    }
    await pause(everyMs, signal);
  }
}

async function look(ports: WatchBatchesPorts, batches: Batches): Promise<void> {
  const { jobs, caches, storageWatch, log } = ports;
  const claimed = await jobs.claimedUnder(ownerPrefix);
  for (const row of claimed) {
    const batchId = row.owner.slice(ownerPrefix.length);
    if (batches.find(batchId) !== undefined) continue;
    const batchJob = caches.job(batchJobName(batchId));
    if (batchJob !== null) {
      // It ended while no leader watched.
      batches.resume(batchJob);
      continue;
    }
    log.warn({ job_id: row.id, attempt: row.attempt }, 'batch missing, job continues in a new attempt');
    await concludeTask(row, { kind: 'disrupted' }, ports);
  }
  for (const batch of batches.all()) await stopIfDue(batch, claimed, ports);
  if (!storageWatch.isAway) await batches.addForLeft();
}

async function stopIfDue(batch: Batch, claimed: readonly BatchedJob[], ports: WatchBatchesPorts): Promise<void> {
  const { caches, runnerNamespace, now } = ports;
  const rows = claimed.filter(({ owner }) => owner === ownerOf(batch.id));
  const { current } = batch;
  const [only] = rows.length === 1 ? rows : [];
  if (current === null) {
    // Of an earlier term: its time counts from here.
    if (only !== undefined && batch.askedMs === null)
      batch.current = { jobId: only.id, attempt: only.attempt, sinceMs: now() };
    return;
  }
  const ranMs = now() - current.sinceMs;
  const isHeld = rows.some(({ id }) => id === current.jobId);
  if (!isHeld && ranMs > cancelAfterMs) await stopBatch(batch, ports);
  const spec = caches.pools.get(runnerNamespace, batchPool)?.spec;
  if (!isHeld || ranMs < activeDeadlineSecondsOf(spec) * 1000) return;
  await stopBatch(batch, ports);
  const error = jobErrorOf('deadline_exceeded', current.attempt);
  const end = { kind: 'failed', exitCode: exitCodes.transient, error } as const;
  await concludeTask({ id: current.jobId, attempt: current.attempt }, end, ports);
}
