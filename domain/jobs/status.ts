import { z } from 'zod';

/**
 * A job's life.
 *
 * - `queued`: the row exists, a ticket is in the queue or will be put there by the sweeper. A crash leaves nothing.
 * - `processing`: admission claimed the row for an attempt; its executor (a lease holder or a MediaJob) moves it on.
 *   A crash leaves a lapsed lease or an orphaned MediaJob, which the sweeper takes up; an attempt that failed
 *   transiently stays `processing` and is given a new ticket.
 * - `completed`, `failed`, `cancelled`: final. Written with results, error and webhook event (`cancelled` has none) in
 *   one transaction. A retry makes new jobs.
 */
export const nextStatuses = {
  queued: ['processing', 'failed', 'cancelled'],
  processing: ['completed', 'failed', 'cancelled'],
  completed: [],
  failed: [],
  cancelled: [],
} as const satisfies Record<string, readonly string[]>;

export type JobStatus = keyof typeof nextStatuses;

/** Every status, in the order of the table. */
export const jobStatuses = Object.keys(nextStatuses) as [JobStatus, ...JobStatus[]];

/** Whether nothing leaves `status`. */
export function isFinal(status: JobStatus): boolean {
  return nextStatuses[status].length === 0;
}

/** Every status that is not final. */
export const activeStatuses = jobStatuses.filter((status) => !isFinal(status));

/** The statuses from which `to` may be reached: the SQL guard of every transition (`where status = any(…)`). */
export function statusesBefore(to: JobStatus): JobStatus[] {
  return jobStatuses.filter((from) => (nextStatuses[from] as readonly JobStatus[]).includes(to));
}

/** Statuses of rows that answer an equal submission instead of a new job (C11.28, C11.29). */
export const liveStatuses = jobStatuses.filter((status) => status !== 'failed' && status !== 'cancelled');

/** The phases of an active job, finer than its status (C12.4). */
export const jobPhases = [
  'admitted',
  'suspended',
  'scheduling',
  'probing',
  'encoding',
  'packaging',
  'publishing',
] as const;
export type JobPhase = (typeof jobPhases)[number];

/** The phases before an attempt works. */
export const waitingPhases: readonly JobPhase[] = ['admitted', 'suspended', 'scheduling'];

/** `callback_status`: null without `callback_url`, before the terminal state, and for a cancelled job. */
export const callbackStatuses = ['pending', 'sent', 'callback_failed'] as const;
export type CallbackStatus = (typeof callbackStatuses)[number];

export const jobStatusSchema = z.enum(jobStatuses);
export const jobPhaseSchema = z.enum(jobPhases);
