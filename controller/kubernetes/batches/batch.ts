import { poolOfQueue } from '#domain/jobs/routing.ts';
import { batchable } from '#domain/work/batchable.ts';
import { leaseOwner } from '../slots/claimed-jobs.ts';

/*
 * A batch: one Job and one pod for many image jobs. It has neither a MediaJob nor a row in Postgres.
 *
 *   image jobs wait ──▶ batch (takes a slot of the pool) ──▶ Job ──▶ pod asks for a task ◀────┐
 *                                     claim a waiting row for this batch ──▶ task ──▶ done ───┘
 *   nothing waits for some seconds, or the batch has done its share ──▶ the pod ends
 *
 * The owner of a claimed row names the batch. The runner has one task at a time, so when the pod has ended, or its Job
 * does not exist, such a row is concluded as an interrupted attempt: by its result manifest, else by another attempt. A
 * new leader knows the batches by their Jobs. A batch takes first attempts alone; what follows a failure or a
 * disruption has a Job of its own.
 */

export const batchPool = poolOfQueue[batchable.queue];

/** Owners of the rows of all batches begin with this. */
export const ownerPrefix = `${leaseOwner}:`;

/** The owner of the rows that a batch has claimed. */
export function ownerOf(batchId: string): string {
  return `${ownerPrefix}${batchId}`;
}

/** The leader's knowledge of a batch. */
export interface Batch {
  /** UUID. */
  readonly id: string;
  readonly createdMs: number;
  /** Whether it was made in this term. */
  readonly isNew: boolean;
  /** Since when it waits for its runner. */
  waitsSinceMs: number;
  /** When its runner last asked; null: not in this term. */
  askedMs: number | null;
  /** The task of its runner. */
  current: { readonly jobId: string; readonly attempt: number; readonly sinceMs: number } | null;
  /** How many tasks it was handed in this term. */
  tasks: number;
  /** It is handed no more. */
  isClosing: boolean;
}
