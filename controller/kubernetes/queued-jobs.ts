import { pause } from '#platform/lifecycle/backoff.ts';
import { isBatch } from './batches/batch.ts';
import type { Batches } from './batches/batches.ts';
import type { LeaderContext } from './leader-context.ts';
import type { Resync } from './resync.ts';
import { hasEnded, isOfApiJob, jobIdOf } from './snapshots.ts';

const everyMs = 5_000;

interface ShownBy {
  readonly resync: Resync;
  readonly batches: Batches;
}

/**
 * Creates the MediaJobs of the jobs of the API that have waited longest, before they have a slot, so that `kubectl get mj`
 * shows the front of the queue; until `signal` aborts. The others get theirs when they start, and image jobs that a batch
 * may take none.
 */
export async function showQueuedJobs(
  context: LeaderContext,
  { resync, batches }: ShownBy,
  signal: AbortSignal,
): Promise<void> {
  const { queuedMediaJobsMax: shownMax, log } = context.dependencies;
  if (shownMax === 0) return;
  while (!signal.aborted) {
    await createMissing(context, { resync, batches }, shownMax).catch((error: unknown) => {
      if (!signal.aborted) log.warn({ err: error }, 'queued jobs could not be shown');
    });
    await pause(everyMs, signal);
  }
}

async function createMissing(
  { caches, slots, dependencies }: LeaderContext,
  { resync, batches }: ShownBy,
  shownMax: number,
): Promise<void> {
  const isShown = (mediaJob: Parameters<typeof jobIdOf>[0]) =>
    isOfApiJob(mediaJob) && !isBatch(mediaJob) && !hasEnded(mediaJob) && !slots.claimed.has(jobIdOf(mediaJob));
  const shown = [...caches.mediaJobs.values()].filter(isShown).length;
  if (shown >= shownMax) return;
  const waiting = await dependencies.jobs.waiting({ forMs: everyMs, limit: shownMax });
  const missing = waiting.filter(
    (job) => caches.keyOfJob(job.id) === undefined && !slots.claimed.has(job.id) && !batches.mayTake(job),
  );
  for (const job of missing.slice(0, shownMax - shown)) await resync.createMediaJob(job);
}
