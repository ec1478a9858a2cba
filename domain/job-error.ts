import { z } from 'zod';
import { boundedLog, boundedText, fitLog, fitText } from './text.ts';
import { isJobProblem, type JobErrorCode, jobErrorCodes, jobErrors } from './errors.ts';

const messageMax = 1000;
const logTailMax = 4096;

/** A job's `error` as stored and as answered (C13.5). `attempt` counts from 1. */
export const jobErrorSchema = z.object({
  code: z.enum(jobErrorCodes).describe('The code of the error, one word for programs.'),
  message: boundedText(messageMax).describe('What went wrong, for people.'),
  stage: boundedText(64).optional().describe('The part of the work that failed.'),
  retryable: z.boolean().describe('Whether another attempt may succeed.'),
  attempt: z.int().positive().describe('The attempt that failed.'),
  details: z
    .object({ log_tail: boundedLog(logTailMax).optional().describe('The end of the log of the program that failed.') })
    .optional()
    .describe('What else is known.'),
});
export type JobError = z.infer<typeof jobErrorSchema>;

/** The error of `code` with the table's message and retryability. */
export function jobErrorOf(code: JobErrorCode, attempt: number, message?: string): JobError {
  return { code, message: message ?? jobErrors[code].publicMessage, retryable: jobErrors[code].retryable, attempt };
}

/**
 * Turns a thrown value into a job's `error`. Anything but a known problem of a job is a bug: its own message is not
 * shown, since it may name paths, keys or addresses.
 */
export function toJobError(thrown: unknown, attempt: number): JobError {
  if (!isJobProblem(thrown)) return jobErrorOf('internal', attempt);
  return {
    ...jobErrorOf(thrown.code, attempt, fitText(thrown.message, messageMax)),
    ...(thrown.details.stage === undefined ? {} : { stage: thrown.details.stage }),
    ...(thrown.details.logTail === undefined
      ? {}
      : { details: { log_tail: fitLog(thrown.details.logTail, logTailMax) } }),
  };
}
