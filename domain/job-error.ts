import { z } from 'zod';
import { isJobProblem, type JobErrorCode, jobErrorCodes, jobErrors } from './errors.ts';

/** A job's `error` as stored and as answered (C2.23). `attempt` counts from 1. */
export const jobErrorSchema = z.object({
  code: z.enum(jobErrorCodes),
  message: z.string(),
  stage: z.string().optional(),
  retryable: z.boolean(),
  attempt: z.int().positive(),
  details: z.object({ log_tail: z.string().max(4096).optional() }).optional(),
});
export type JobError = z.infer<typeof jobErrorSchema>;

/** The error of `code` with the table's message and retryability. */
export function jobErrorOf(code: JobErrorCode, attempt: number, message?: string): JobError {
  return { code, message: message ?? jobErrors[code].publicMessage, retryable: jobErrors[code].retryable, attempt };
}

/**
 * What a thrown value becomes in a job's `error`. Anything but a known problem of a job is a bug: its own message
 * is not shown, since it may name paths, keys or addresses.
 */
export function toJobError(thrown: unknown, attempt: number): JobError {
  if (!isJobProblem(thrown)) return jobErrorOf('internal', attempt);
  return {
    ...jobErrorOf(thrown.code, attempt, thrown.message),
    ...(thrown.details.stage === undefined ? {} : { stage: thrown.details.stage }),
    ...(thrown.details.logTail === undefined ? {} : { details: { log_tail: thrown.details.logTail.slice(-4096) } }),
  };
}
