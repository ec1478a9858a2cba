import type { Job, Problem } from './types.ts';

type Fault = NonNullable<Problem['errors']>[number];

interface ErrorFields {
  readonly code: string;
  readonly detail: string;
  readonly status?: number;
  readonly errors?: readonly Fault[];
  readonly traceId?: string | null;
  readonly retryAfterSec?: number | null;
  readonly cause?: unknown;
}

/** A refused request, a failed job, or a service that cannot be reached. */
export class ReelwrightError extends Error {
  override readonly name: string = 'ReelwrightError';
  /** The status of the answer; 0 where no request was refused. */
  readonly status: number;
  /** A code of the API, or one of this client: `unreachable`, `unexpected_answer`, `timeout`, `invalid_signature`. */
  readonly code: string;
  readonly detail: string;
  /** Every fault of a refused request, with the field as a JSON Pointer. */
  readonly errors: readonly Fault[];
  /** Names the request in the log of the service. */
  readonly traceId: string | null;
  /** Seconds after which the service asks to be asked again. */
  readonly retryAfterSec: number | null;

  constructor({ code, detail, status = 0, errors = [], traceId = null, retryAfterSec = null, cause }: ErrorFields) {
    super(`${code}: ${detail}`, cause === undefined ? undefined : { cause });
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.errors = errors;
    this.traceId = traceId;
    this.retryAfterSec = retryAfterSec;
  }

  /** The advice: what to do about it. */
  get advice(): string {
    return advice[this.code] ?? 'Look up the trace id in the log of the service.';
  }
}

/** A job that was waited for has failed or was cancelled; `code` is its error's. */
export class JobEndedError extends ReelwrightError {
  override readonly name = 'JobEndedError';
  readonly job: Job;

  constructor(job: Job) {
    super({
      code: job.error?.code ?? job.status,
      detail: `job ${job.job_id}: ${job.error?.message ?? `it is ${job.status}`}`,
    });
    this.job = job;
  }

  /** Whether `retry` may end differently with the same source. */
  get isRetryable(): boolean {
    return this.job.error?.retryable ?? false;
  }
}

/** Advice by code: of requests, of jobs, and of this client. */
export const advice: Readonly<Record<string, string>> = {
  invalid_json: 'Send valid JSON.',
  invalid_request: 'Correct the fields that `errors` lists.',
  source_missing: 'Upload the source first, then submit again.',
  unauthorized: 'Give a valid API key; a playback token is none.',
  forbidden: 'Use a key with the right that the detail names, or make a new token for this hash.',
  not_found: 'Check the id, and that the base URL is the service’s.',
  media_deleted: 'Submit again to make a new one.',
  method_not_allowed: 'The service is older or newer than this client; use the version that belongs to it.',
  conflict: 'It has ended, or another request changed it: read it again.',
  upload_conflict: 'Get the upload: it has completed, was deleted, or still lacks parts.',
  upload_mismatch: 'Upload the file again: the bytes differ from what was announced.',
  unsupported: 'Upload a video, audio or image file.',
  not_configured: 'The detail says what the operator has to configure.',
  not_retryable: 'The detail says why; submit again with another source or other options.',
  body_too_large: 'Send a smaller body.',
  source_too_large: 'Send a smaller source, or ask the operator to raise MAX_FILE_SIZE.',
  unsupported_media_type: 'Send JSON with Content-Type: application/json.',
  unreadable_image: 'Name another object; this one is no image that can be shown.',
  rate_limited: 'Wait for Retry-After; send fewer requests a minute.',
  internal_error: 'Look up the trace id in the log of the service.',
  busy: 'Wait for Retry-After, then send the same request again.',
  source_not_found: 'Upload the source, then retry the job.',
  source_unreadable: 'Check the source bucket and its rights, then retry the job.',
  source_changed: 'Retry the job; do not replace an object while a job reads it.',
  unsupported_media: 'Send another format.',
  corrupt_input: 'Upload the file again; the log tail of the job says what is wrong with it.',
  no_video_stream: 'Submit a source that has video.',
  timestamp_out_of_range: 'Choose a time within the source.',
  limit_exceeded: 'Send a smaller source; the message names the limit.',
  resource_exhausted: 'Ask the operator for more memory or scratch space, then retry the job.',
  preempted_too_often: 'Retry the job; the operator can move the pool to steadier nodes.',
  deadline_exceeded: 'Ask the operator for more time or processors, then retry the job.',
  storage_error: 'Check the media bucket and its rights, then retry the job.',
  packager_error: 'Read the log tail of the job; report it when a retry fails in the same way.',
  cancelled: 'Submit it again when it is wanted after all.',
  internal: 'It is a fault of the service: look up the job in its log.',
  unreachable: 'Check the base URL, and that the service is running.',
  unexpected_answer: 'The base URL is of another program, or a proxy answered: check it.',
  timeout: 'The job goes on: wait for it again.',
  invalid_signature: 'Refuse the request; check WEBHOOK_SECRET, the raw body, and the clock.',
};

/** The error that an answer with a status of 400 or more stands for; `url`: where it came from. */
export async function errorOf(response: Response, url = response.url): Promise<ReelwrightError> {
  const text = await response.text().catch(() => '');
  const problem = problemOf(text);
  const retryAfterSec = retryAfterOf(response);
  const traceId = problem?.trace_id ?? response.headers.get('x-trace-id');
  const { status } = response;
  if (problem === null) {
    const detail = `${url || 'the service'} answered ${status} without a problem document`;
    return new ReelwrightError({ code: 'unexpected_answer', detail, status, traceId, retryAfterSec });
  }
  const { code, detail: given, errors = [] } = problem;
  const detail = code === 'not_found' ? (wrongBase(url) ?? given) : given;
  return new ReelwrightError({ code, detail, status, errors, traceId, retryAfterSec });
}

/** The fault of a base address that has the path of a page of the service at its end; null for any other. */
function wrongBase(url: string): string | null {
  const [, page] = /\/(api|console|docs|player)\/api\//.exec(url) ?? [];
  return page === undefined ? null : `baseUrl ends with /${page}; leave that out: the client adds the paths.`;
}

/** The error of one submission of a batch. */
export function errorOfProblem(problem: Problem | undefined, status: number): ReelwrightError {
  if (problem === undefined) return new ReelwrightError({ code: 'unexpected_answer', detail: 'no problem', status });
  const { code, detail, errors = [], trace_id: traceId } = problem;
  return new ReelwrightError({ code, detail, status, errors, traceId });
}

function problemOf(text: string): Problem | null {
  try {
    const parsed = JSON.parse(text) as Partial<Problem> | null;
    return typeof parsed?.code === 'string' && typeof parsed.detail === 'string' ? (parsed as Problem) : null;
  } catch {
    return null;
  }
}

/** The seconds of `Retry-After`, in either of its forms; null without one. */
export function retryAfterOf({ headers }: Response): number | null {
  const value = headers.get('retry-after');
  if (value === null) return null;
  const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : null;
}
