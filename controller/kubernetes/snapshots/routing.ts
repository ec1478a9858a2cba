import type { JobType } from '#domain/job-types/index.ts';
import type { Job } from '#domain/jobs/job.ts';
import { poolOfQueue } from '#domain/jobs/routing.ts';
import { batchTypes } from '#domain/work/batchable.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';

/** How a claimed job takes part in its pool. */
export interface ClaimedJob {
  readonly pool: string;
  /** A suspended job takes no slot. */
  readonly isSuspended: boolean;
  readonly priority: number;
  /** An image job or a batch of them: it may take the slots that are kept for these. */
  readonly isImage: boolean;
}

/** The columns of a row that say where its job runs, and before which others. */
type Routing = Pick<Job, 'queue' | 'pool' | 'priority' | 'type'>;

/** The pool that a job runs in: its own choice, else its queue's. */
export function poolOf(mediaJob: MediaJob | undefined, { pool, queue }: Pick<Routing, 'pool' | 'queue'>): string {
  return mediaJob?.spec.pool ?? pool ?? poolOfQueue[queue];
}

/** How a claimed job takes part in its pool. */
export function claimOf(mediaJob: MediaJob | undefined, row: Routing): ClaimedJob {
  const { suspend, priority = row.priority } = mediaJob?.spec ?? {};
  return { pool: poolOf(mediaJob, row), isSuspended: suspend === true, priority, isImage: isImageType(row.type) };
}

/** Whether the runner of a type may do one job after another, as for images. */
export function isImageType(type: JobType): boolean {
  return batchTypes.includes(type);
}
