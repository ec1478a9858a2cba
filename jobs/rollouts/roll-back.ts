import { KnownProblem } from '#domain/errors.ts';
import type { Rollout } from '#domain/rollouts/rollout.ts';
import type { BegunItem } from '#platform/postgres/rollout-item-store.ts';
import { type CancelDependencies, cancelJob } from '../submission/cancel.ts';
import { publishRevision } from '../completion/publish-revision.ts';
import type { RolloutDependencies } from './dependencies.ts';

const pageSize = 100;
const retryMs = 10_000;
/** Within this the steps of a cancelled job have ended: its slot is free, or about to be. */
const freedMs = 10_000;

/** Cancels what runs. Its items are recorded as their jobs end. */
export async function cancelRunning({ id }: Rollout, dependencies: RolloutDependencies): Promise<void> {
  for (const { jobId } of await dependencies.rollouts.items.running(id, pageSize))
    await cancelUnlessEnded(jobId, dependencies);
}

/**
 * Publishes the earlier stream of each media that the rollout made again and whose stream is still the rollout's. A
 * crash leaves items that are rolled back again, which changes nothing.
 */
export async function rollBackDone({ id }: Rollout, dependencies: RolloutDependencies, signal: AbortSignal) {
  const { rollouts, log } = dependencies;
  const { items } = rollouts;
  for (let goesOn = true; goesOn && !signal.aborted;) {
    const page = await items.done(id, pageSize);
    for (const item of page) {
      if (signal.aborted) return;
      try {
        const keptFor = await publishEarlier(item, dependencies);
        const end = keptFor === null ? ({ to: 'rolled_back' } as const) : ({ to: 'kept', reason: keptFor } as const);
        await items.move(id, item.hash, { from: 'done', ...end });
      } catch (error) {
        log.warn({ err: error, rollout_id: id, hash: item.hash }, 'rollout item not rolled back');
        await items.delay(id, item.hash, retryMs);
      }
    }
    goesOn = page.length === pageSize;
  }
}

/** Null: the earlier stream is played; else why it is not. */
async function publishEarlier(item: BegunItem, dependencies: RolloutDependencies): Promise<string | null> {
  const { hash, earlierRev: rev, jobId } = item;
  const { isDeleted, streamJobId, streamRev } = await dependencies.rollouts.items.mediaNow(hash);
  if (isDeleted) return 'deleted';
  if (streamRev === rev) return null;
  if (streamJobId !== jobId) return 'replaced';
  try {
    await publishRevision(dependencies, { hash, rev, replaces: jobId });
    return null;
  } catch (error) {
    if (!(error instanceof KnownProblem)) throw error;
    if (error.code === 'conflict') return 'replaced';
    if (error.code === 'not_found') return 'the earlier objects are deleted';
    throw error;
  }
}

/**
 * Gives slots back to submissions that wait: the reruns that began last are cancelled, and planned again. One that
 * completes meanwhile is done.
 */
export async function giveWay({ id }: Rollout, dependencies: RolloutDependencies, waitedMs: number): Promise<void> {
  const { rollouts, log } = dependencies;
  const waiting = await rollouts.slots.waitingSubmissions(waitedMs);
  let freed = waiting.length === 0 ? 0 : await rollouts.slots.givingWay(id, freedMs);
  for (const { slots, jobs } of waiting) {
    const wanted = Math.max(0, jobs - freed);
    freed = Math.max(0, freed - jobs);
    for (const { hash, jobId } of await rollouts.slots.working(id, slots, wanted)) {
      await rollouts.slots.noteGivingWay(id, hash);
      if (await cancelUnlessEnded(jobId, dependencies))
        log.info({ rollout_id: id, job_id: jobId, hash }, 'rerun gave way to a submission');
    }
  }
}

/** Whether the job is cancelled. */
export async function cancelUnlessEnded(jobId: string, dependencies: CancelDependencies): Promise<boolean> {
  try {
    await cancelJob(dependencies, jobId);
    return true;
  } catch (error) {
    if (!(error instanceof KnownProblem) || (error.code !== 'conflict' && error.code !== 'not_found')) throw error;
    return false;
  }
}
