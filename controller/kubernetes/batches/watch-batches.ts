import { jobErrorOf } from '#domain/job-error.ts';
import { exitCodes } from '#domain/exit-codes.ts';
import { pause } from '#platform/lifecycle/backoff.ts';
import type { BatchedJob } from '#platform/postgres/batch-rows.ts';
import type { LeaderContext } from '../leader-context.ts';
import { type Batch, batchPool, ownerOf, ownerPrefix } from './batch.ts';
import type { Batches } from './batches.ts';
import { concludeTask } from './conclude-task.ts';
import { showBatch, stopBatch } from './reconcile-batch.ts';

const everyMs = 1_000;
/** Without batches, rows that one has left behind are looked for this often. */
const idleEveryMs = 10_000;
/** A brief task whose job was cancelled ends by itself; a longer one is stopped with its pod. */
const cancelAfterMs = 2_000;
/** A created MediaJob appears in the cache within this time. */
const creationMs = 15_000;
const deadlineDefaultMs = 6 * 60 * 60_000;

/**
 * Looks after what no request and no watch reports, until `signal` aborts: cancelled jobs, jobs past their deadline,
 * rows of batches that exist no more, and waiting jobs without a batch.
 */
export async function watchBatches(context: LeaderContext, batches: Batches, signal: AbortSignal): Promise<void> {
  const { dependencies, now } = context;
  if (dependencies.batches === null) return;
  let dueMs = 0;
  while (!signal.aborted) {
    if (batches.all().length > 0 || now() >= dueMs) {
      dueMs = now() + idleEveryMs;
      await look(context, batches).catch((error: unknown) => {
        if (!signal.aborted) dependencies.log.warn({ err: error }, 'batches could not be checked');
      });
    }
    await pause(everyMs, signal);
  }
}

async function look(context: LeaderContext, batches: Batches): Promise<void> {
  const { dependencies } = context;
  const held = await dependencies.jobs.heldUnder(ownerPrefix);
  for (const row of held) {
    if (batches.find(row.owner.slice(ownerPrefix.length)) !== undefined) continue;
    dependencies.log.warn({ job_id: row.id, attempt: row.attempt }, 'batch missing, job continues in a new attempt');
    await concludeTask(row, { kind: 'disrupted' }, dependencies);
  }
  for (const batch of batches.all()) {
    if (isDeleted(batch, context)) batches.remove(batch.id);
    await stopIfDue(batch, held, context);
    await showBatch(batch, context);
  }
  if (!dependencies.storageWatch.isAway) await batches.addForLeft();
}

/** Whether the MediaJob of a batch was deleted: its rows are concluded in the next round, and its pod is collected. */
function isDeleted({ id, knownMs }: Batch, { caches, now }: LeaderContext): boolean {
  return caches.keyOfJob(id) === undefined && now() - knownMs > creationMs;
}

async function stopIfDue(batch: Batch, held: readonly BatchedJob[], context: LeaderContext): Promise<void> {
  const { caches, dependencies, now } = context;
  const rows = held.filter(({ owner }) => owner === ownerOf(batch.id));
  const { current } = batch;
  const [first] = rows;
  if (current === null) {
    // Of an earlier term: its time counts from here.
    if (first !== undefined && batch.askedMs === null)
      batch.current = { jobId: first.id, attempt: first.attempt, sinceMs: now() };
    return;
  }
  const ranMs = now() - current.sinceMs;
  const isHeld = rows.some(({ id }) => id === current.jobId);
  if (!isHeld && ranMs > cancelAfterMs) await stopBatch(batch, context);
  const { activeDeadlineSeconds } = caches.pools.get(dependencies.runnerNamespace, batchPool)?.spec ?? {};
  const deadlineMs = activeDeadlineSeconds === undefined ? deadlineDefaultMs : activeDeadlineSeconds * 1000;
  if (!isHeld || ranMs < deadlineMs) return;
  await stopBatch(batch, context);
  const error = jobErrorOf('deadline_exceeded', current.attempt);
  const end = { kind: 'failed', exitCode: exitCodes.transient, error } as const;
  await concludeTask({ id: current.jobId, attempt: current.attempt }, end, dependencies);
}
