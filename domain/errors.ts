/**
 * Three kinds of failure, never mixed:
 *
 * - a **known problem** is a row of one of the two tables below and travels as `KnownProblem`;
 * - a **bug** is anything else that is thrown; it is logged with its stack, shown as `internal`, and not retried;
 * - an **abort** (shutdown, cancellation) is the reason of an `AbortSignal`; the attempt does not count.
 */

interface JobErrorRow {
  /** Whether another attempt, or `POST /api/jobs/{id}/retry`, may end differently with the same input. */
  readonly retryable: boolean;
  readonly publicMessage: string;
}

/** The closed list of `code` in a job's `error` (C13.6). */
export const jobErrors = {
  source_not_found: { retryable: false, publicMessage: 'The source object does not exist in the source bucket.' },
  source_unreadable: { retryable: true, publicMessage: 'The source object could not be read.' },
  source_changed: { retryable: true, publicMessage: 'The source object changed while it was being processed.' },
  unsupported_media: { retryable: false, publicMessage: 'The source is of a kind that is not supported.' },
  corrupt_input: { retryable: false, publicMessage: 'The source is damaged beyond what can be repaired.' },
  no_video_stream: { retryable: false, publicMessage: 'The source has no video stream.' },
  timestamp_out_of_range: { retryable: false, publicMessage: 'The requested time lies outside the source.' },
  limit_exceeded: { retryable: false, publicMessage: 'The source exceeds a limit of this service.' },
  resource_exhausted: { retryable: true, publicMessage: 'The work ran out of memory, disk space or open files.' },
  preempted_too_often: { retryable: true, publicMessage: 'The work was interrupted too often.' },
  deadline_exceeded: { retryable: true, publicMessage: 'The work did not finish in time.' },
  storage_error: { retryable: true, publicMessage: 'Object storage failed.' },
  packager_error: { retryable: true, publicMessage: 'Packaging the stream failed.' },
  cancelled: { retryable: false, publicMessage: 'The job was cancelled.' },
  internal: { retryable: false, publicMessage: 'An internal error occurred.' },
} as const satisfies Record<string, JobErrorRow>;

export type JobErrorCode = keyof typeof jobErrors;

/** Every code of a job error, in the order of the table. */
export const jobErrorCodes = Object.keys(jobErrors) as [JobErrorCode, ...JobErrorCode[]];

/** Codes of refused requests; `api` maps each to one HTTP status. */
export const requestErrors = {
  invalid_json: { publicMessage: 'The body is not valid JSON.' },
  invalid_request: { publicMessage: 'The request is not valid.' },
  unsupported_media_type: { publicMessage: 'The body must be application/json.' },
  body_too_large: { publicMessage: 'The body is too large.' },
  source_missing: { publicMessage: 'The source object does not exist in the source bucket.' },
  source_too_large: { publicMessage: 'The source object is larger than this service accepts.' },
  unauthorized: { publicMessage: 'A valid credential is required.' },
  forbidden: { publicMessage: 'The credential does not allow this.' },
  not_found: { publicMessage: 'There is nothing at this address.' },
  media_deleted: { publicMessage: 'What was here was deleted.' },
  method_not_allowed: { publicMessage: 'This address does not answer that method.' },
  not_retryable: { publicMessage: 'The job cannot be retried.' },
  conflict: { publicMessage: 'The present state does not allow this.' },
  upload_conflict: { publicMessage: 'The state of the upload does not allow this.' },
  upload_mismatch: { publicMessage: 'The uploaded bytes are not those that were announced.' },
  unsupported: { publicMessage: 'This is not a video, audio or image file.' },
  not_configured: { publicMessage: 'This service is not configured for this.' },
  rate_limited: { publicMessage: 'Too many requests.' },
  unreadable_image: { publicMessage: 'The object is no image that can be shown.' },
  busy: { publicMessage: 'Too much work at once; try again shortly.' },
  internal_error: { publicMessage: 'An internal error occurred.' },
} as const satisfies Record<string, { readonly publicMessage: string }>;

export type RequestErrorCode = keyof typeof requestErrors;

/** One fault of a request body: `pointer` is an RFC 6901 JSON Pointer, '' for the whole body. */
export interface Fault {
  readonly pointer: string;
  readonly code: string;
  readonly detail: string;
}

interface ProblemDetails {
  readonly cause?: unknown;
  /** Every fault of a refused request body. */
  readonly faults?: readonly Fault[];
  /** The end of a tool's stderr, redacted; at most 4 kB. Never part of `message`. */
  readonly logTail?: string;
  /** `Retry-After` of the answer, where the code's own is not meant. */
  readonly retryAfterSec?: number;
  /** The step or stage in which a job failed. */
  readonly stage?: string;
}

/** A problem of one of the two tables. `message` is for people and has no tool output, key or URL. */
export class KnownProblem<
  Code extends JobErrorCode | RequestErrorCode = JobErrorCode | RequestErrorCode,
> extends Error {
  override readonly name = 'KnownProblem';
  readonly code: Code;
  readonly details: ProblemDetails;

  constructor(code: Code, message?: string, details: ProblemDetails = {}) {
    const row: { publicMessage: string } =
      code in jobErrors ? jobErrors[code as JobErrorCode] : requestErrors[code as RequestErrorCode];
    super(message ?? row.publicMessage, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.details = details;
  }
}

/** Whether `error` is a known problem of a job (and not one of a request). */
export function isJobProblem(error: unknown): error is KnownProblem<JobErrorCode> {
  return error instanceof KnownProblem && error.code in jobErrors;
}
