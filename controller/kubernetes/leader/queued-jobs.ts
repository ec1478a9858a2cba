import { pause } from '#platform/lifecycle/backoff.ts';
import type { Batches } from '../batches/batches.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { Caches } from '../cache/caches.ts';
import type { ClaimedJobs } from '../slots/claimed-jobs.ts';
import type { Resync } from './resync.ts';
import { hasEnded, isOfApiJob, jobIdOf } from '../snapshots/media-job.ts';

const everyMs = 5_000;

interface QueuedJobsPorts {
  readonly jobs: Pick<JobStore, 'waiting'>;
  readonly caches: Pick<Caches, 'keyOfJob' | 'mediaJobs'>;
  readonly slots: { readonly claimed: Pick<ClaimedJobs, 'has'> };
  readonly resync: Pick<Resync, 'createMediaJob'>;
  readonly batches: Pick<Batches, 'mayTake'>;
  /** How many waiting jobs of the API have a MediaJob. */
  readonly queuedMediaJobsMax: number;
  readonly log: Logger;
}

/**
 * Creates MediaJobs for the jobs that have waited longest, so that `kubectl get mj` shows the front of the queue; until
 * `signal` aborts. Other jobs get theirs when they start, and image jobs in a batch get none.
 */
export async function showQueuedJobs(ports: QueuedJobsPorts, signal: AbortSignal): Promise<void> {
  const { queuedMediaJobsMax, log } = ports;
  if (queuedMediaJobsMax === 0) return;
  while (!signal.aborted) {
    await createMissing(ports).catch((error: unknown) => {
      if (!signal.aborted) log.warn({ err: error }, 'queued jobs could not be shown');
    });
    await pause(everyMs, signal);
  }
}

async function createMissing(ports: QueuedJobsPorts): Promise<void> {
  const { jobs, caches, slots, resync, batches, queuedMediaJobsMax: shownMax } = ports;
  const isShown = (mediaJob: Parameters<typeof jobIdOf>[0]) =>
    isOfApiJob(mediaJob) && !hasEnded(mediaJob) && !slots.claimed.has(jobIdOf(mediaJob));
  const shown = [...caches.mediaJobs.values()].filter(isShown).length;
  if (shown >= shownMax) return;
  const waiting = await jobs.waiting({ forMs: everyMs, limit: shownMax });
  const missing = waiting.filter(
    (job) => caches.keyOfJob(job.id) === undefined && !slots.claimed.has(job.id) && !batches.mayTake(job),
  );
  for (const job of missing.slice(0, shownMax - shown)) await resync.createMediaJob(job);
}
