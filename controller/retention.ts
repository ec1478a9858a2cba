import { revisionOf } from '#domain/media/object-keys.ts';
import { revisionRoots } from '#jobs/revision-roots.ts';
import type { Component } from '#platform/lifecycle/component.ts';
import type { RetentionStore, SupersedingJob } from '#platform/postgres/retention-store.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { currentRevision, removeUnder } from './cleanup.ts';
import { periodicComponent } from './periodic-component.ts';

export interface RetentionDependencies {
  readonly retention: RetentionStore;
  readonly media: ObjectStore;
  readonly log: Logger;
  readonly everyMs: number;
  /** `JOB_RETENTION`; null: jobs are kept. */
  readonly jobRetentionMs: number | null;
  /** `REVISION_RETENTION`; null: replaced revisions are kept. */
  readonly revisionRetentionMs: number | null;
}

const pageSize = 100;

/**
 * Removes what is older than the retention times: revisions that a newer stream of their hash replaced, and the rows of
 * final jobs. Revisions come first, since the rows name them. A round goes on until nothing is due.
 */
export function retentionComponent(dependencies: RetentionDependencies): Component {
  const { everyMs, log } = dependencies;
  const work = async (signal: AbortSignal) => {
    await removeRevisions(dependencies, signal);
    await deleteJobs(dependencies, signal);
  };
  return periodicComponent({ name: 'retention', everyMs, log, work });
}

async function removeRevisions(dependencies: RetentionDependencies, signal: AbortSignal): Promise<void> {
  const { retention, revisionRetentionMs: retentionMs, log } = dependencies;
  if (retentionMs === null) return;
  for (let isFull = true; isFull && !signal.aborted;) {
    const jobs = await retention.claimSuperseding({ retentionMs, limit: pageSize });
    isFull = jobs.length === pageSize;
    for (const job of jobs) {
      if (signal.aborted) return;
      await removeEarlier(job, dependencies).catch((error: unknown) =>
        log.warn({ err: error, job_id: job.jobId }, 'replaced revisions not removed'),
      );
    }
  }
}

async function removeEarlier(
  { jobId, hash }: SupersedingJob,
  { retention, media, log }: RetentionDependencies,
): Promise<void> {
  const current = await currentRevision(hash, media);
  let removed = 0;
  for (const earlier of await retention.supersededBy(jobId)) {
    const revs = Array.from({ length: earlier.attempt }, (_, index) => revisionOf(earlier.jobId, index + 1));
    for (const rev of [...revs, ...(earlier.rev === null ? [] : [earlier.rev])]) {
      if (rev === current) continue;
      for (const root of revisionRoots(hash, rev)) removed += await removeUnder(media, root);
    }
  }
  await retention.markEarlierRemoved(jobId);
  if (removed > 0) log.info({ job_id: jobId, objects: removed }, 'replaced revisions removed');
}

async function deleteJobs(
  { retention, jobRetentionMs: retentionMs, log }: RetentionDependencies,
  signal: AbortSignal,
): Promise<void> {
  if (retentionMs === null) return;
  let deleted = pageSize;
  let sum = 0;
  while (deleted === pageSize && !signal.aborted) {
    deleted = await retention.deleteJobs({ retentionMs, limit: pageSize });
    sum += deleted;
  }
  if (sum > 0) log.info({ jobs: sum }, 'old jobs deleted');
}
