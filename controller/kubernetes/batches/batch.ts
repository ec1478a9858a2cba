import { jobTypeNames, jobTypeRow } from '#domain/job-types/index.ts';
import { poolOfQueue } from '#domain/jobs/routing.ts';
import type { Job } from '#domain/jobs/job.ts';
import { apiGroup } from '#domain/kubernetes/custom-resource.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import { attemptJobName, labels } from '../manifests/names.ts';
import { leaseOwner } from '../slots/claimed-jobs.ts';

/*
 * A batch: one MediaJob, one Job and one pod for many image jobs.
 *
 *   image jobs wait ──▶ MediaJob (takes a slot of the pool) ──▶ Job ──▶ pod asks for a task ◀─┐
 *                                     claim a waiting row for this batch ──▶ task ──▶ done ──┘
 *   nothing waits for some seconds, or the batch has done its share ──▶ the pod ends ──▶ the MediaJob is complete
 *
 * A batch has no row in Postgres. What it is at is there all the same: the rows whose owner is the batch. The runner has
 * one task at a time, so when the pod is over, or its MediaJob does not exist, such a row is concluded as that of an
 * interrupted attempt: by its result manifest, else by another attempt. A new leader knows the batches by their
 * MediaJobs. A batch takes first attempts alone; what follows a failure or a disruption has a Job of its own.
 */

/** The label of the MediaJobs of batches; its value names what they do. */
export const batchLabel = `${apiGroup}/batch`;

/** Job types whose steps run in one process. */
export const batchTypes = jobTypeNames.filter((type) => jobTypeRow(type).runsInOneStep);
export const batchQueue = 'default';
export const batchPool = poolOfQueue[batchQueue];

/** Owners of the rows of all batches begin with this. */
export const ownerPrefix = `${leaseOwner}:`;

/** The owner of the rows that a batch is at. */
export function ownerOf(batchId: string): string {
  return `${ownerPrefix}${batchId}`;
}

/** What the leader knows of a batch; of an earlier term only what its MediaJob says. */
export interface Batch {
  /** UUID. */
  readonly id: string;
  readonly createdMs: number;
  /** Since when this leader knows it. */
  readonly knownMs: number;
  /** Since when it waits for its runner. */
  waitsSinceMs: number;
  /** When its runner last asked; null: not in this term. */
  askedMs: number | null;
  /** What its runner is at. */
  current: { readonly jobId: string; readonly attempt: number; readonly sinceMs: number } | null;
  /** How many of its jobs have ended, and how many of them did not succeed. */
  ended: number;
  failed: number;
  /** The ids of the jobs that it was handed, the newest last. */
  readonly jobs: string[];
  /** It is handed no more. */
  isClosing: boolean;
}

/** Whether a MediaJob is that of a batch. Only the controller can set the label (manifests/own-mark.ts). */
export function isBatch({ metadata }: Pick<MediaJob, 'metadata'>): boolean {
  return metadata?.labels?.[batchLabel] !== undefined;
}

/** The batch of a MediaJob, as far as that says it. */
export function batchOf({ metadata, status }: MediaJob, knownMs: number): Batch {
  const { ended = 0, failed = 0, jobs = [] } = status?.batch ?? {};
  return {
    id: metadata?.labels?.[labels.jobId] ?? '',
    createdMs: metadata?.creationTimestamp === undefined ? knownMs : Date.parse(metadata.creationTimestamp),
    knownMs,
    waitsSinceMs: knownMs,
    askedMs: null,
    current: null,
    ended,
    failed,
    jobs: [...jobs],
    isClosing: false,
  };
}

/** The name of the Job of a batch, which has one alone. */
export function batchJobName(id: string): string {
  return attemptJobName({ id, attempt: 1 });
}

/** Whether a batch may take a waiting job, if it has no MediaJob of its own. */
export function isForBatch({ type, attempt, queue, pool, priority }: Job): boolean {
  return batchTypes.includes(type) && attempt === 1 && queue === batchQueue && pool === null && priority === 0;
}
