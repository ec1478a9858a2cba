import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Fault, KnownProblem, type RequestErrorCode, requestErrors } from '#domain/errors.ts';
import { traceIdOfRequest } from './tracing.ts';

// Every refusal of the JSON API is one RFC 9457 problem document (C22.21).

/** The HTTP status of each code. */
const statusOf = {
  invalid_json: 400,
  invalid_request: 400,
  source_missing: 400,
  unsupported: 400,
  unauthorized: 401,
  forbidden: 403,
  not_configured: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  media_deleted: 410,
  not_retryable: 409,
  upload_conflict: 409,
  upload_mismatch: 409,
  body_too_large: 413,
  source_too_large: 413,
  unsupported_media_type: 415,
  unreadable_image: 422,
  rate_limited: 429,
  internal_error: 500,
  busy: 503,
} as const satisfies Record<RequestErrorCode, number>;

/** The HTTP status of a problem. */
export function statusOfProblem(code: RequestErrorCode): number {
  return statusOf[code];
}

/** The remedy for a problem without a more exact detail: `detail` says more than `title`. */
const adviceOf = {
  invalid_json: 'Send one JSON value in UTF-8.',
  invalid_request: 'Send a request as /docs describes it.',
  source_missing: 'Upload it, or correct source.',
  source_too_large: 'The limit is MAX_FILE_SIZE of this service.',
  unauthorized: 'Send the credential that this address requires.',
  forbidden: 'Get a new credential; this one is wrong, has expired, or is for something else.',
  not_found: 'Check the address; /docs lists the addresses of this service.',
  method_not_allowed: 'The header Allow lists the methods of this address.',
  conflict: 'Read the job again; its status decides.',
  media_deleted: 'It stays so until something new is made under the same hash.',
  not_retryable: 'Submit the job again with a corrected request or source.',
  upload_conflict: 'Read the upload again; its status and its parts decide.',
  upload_mismatch: 'Upload the file again.',
  unsupported: 'Upload a video, audio or image file of a supported kind.',
  not_configured: 'The operator of this service decides what it is configured for.',
  body_too_large: 'A body has at most 1 MiB, a batch 4 MiB.',
  unsupported_media_type: 'Send Content-Type: application/json without Content-Encoding.',
  unreadable_image: 'Only images that this service made, or of the kinds it makes, can be shown.',
  rate_limited: 'Wait for the time in Retry-After.',
  internal_error: 'Send the same request again later; trace_id finds the reason in the log.',
  busy: 'Send the same request again after the time in Retry-After.',
} as const satisfies Record<RequestErrorCode, string>;

/** `not_found` for an address without a route. */
export function notFound(url: string): KnownProblem<'not_found'> {
  const hasSlash = (url.split('?', 1)[0] ?? '').replace(/^\//, '').endsWith('/');
  const detail = 'There is nothing at this address; remove the slash at its end.';
  return new KnownProblem('not_found', hasSlash ? detail : undefined);
}

/** The codes of the framework's own refusals; any other of its 4xx is an invalid request. */
const codeOfFrameworkError: Readonly<Record<string, RequestErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
};

/** A problem as a caller may see it: every error but a known problem of a request becomes `internal_error`. */
export function requestProblemOf(thrown: unknown): KnownProblem<RequestErrorCode> {
  if (isRequestProblem(thrown)) return thrown;
  const { code, statusCode } = (thrown ?? {}) as { code?: unknown; statusCode?: unknown };
  const known = typeof code === 'string' ? codeOfFrameworkError[code] : undefined;
  if (known !== undefined) return new KnownProblem(known, undefined, { cause: thrown });
  const isRefusal = typeof code === 'string' && code.startsWith('FST_') && isClientStatus(statusCode);
  return new KnownProblem(isRefusal ? 'invalid_request' : 'internal_error', undefined, { cause: thrown });
}

/** `Retry-After` in seconds where nothing has set it: of too many open uploads, some end when their caller says so. */
const retryAfterSecOf: Partial<Record<RequestErrorCode, number>> = { busy: 1, rate_limited: 10 };

/** Answers a problem. Headers that were set before stay, such as a rate limit's. */
export function sendProblem(
  request: FastifyRequest,
  reply: FastifyReply,
  problem: KnownProblem<RequestErrorCode>,
): FastifyReply {
  const status = statusOf[problem.code];
  reply.code(status).header('cache-control', 'no-store').header('content-type', 'application/problem+json');
  for (const name of ['etag', 'last-modified', 'content-encoding', 'accept-ranges', 'content-length'])
    reply.removeHeader(name);
  const retryAfterSec = problem.details.retryAfterSec ?? retryAfterSecOf[problem.code];
  if (retryAfterSec !== undefined && !reply.hasHeader('retry-after')) reply.header('retry-after', retryAfterSec);
  // A client that is refused for want of places holds no connection either.
  if (problem.code === 'busy') reply.header('connection', 'close');
  // As bytes: to text the framework would add a charset, which this media type does not have (RFC 9457, section 6.1).
  return reply.send(Buffer.from(JSON.stringify(problemDocument(request, reply, problem))));
}

/** The document of a problem (RFC 9457), as an answer or as a part of one. */
export function problemDocument(
  request: FastifyRequest,
  reply: FastifyReply,
  { code, message, details }: KnownProblem<RequestErrorCode>,
) {
  const title = requestErrors[code].publicMessage;
  const faults = details.faults ?? [];
  return {
    type: `/docs#problem-${code}`,
    title,
    status: statusOf[code],
    detail: message === title ? detailOf(code, faults) : message,
    instance: (request.url.split('?', 1)[0] ?? '').slice(0, 256),
    code,
    trace_id: traceIdOfRequest(request, reply),
    ...(faults.length === 0 ? {} : { errors: [...faults] }),
  };
}

/** Faults that `detail` has; `errors` has all. */
const shownFaultsMax = 3;
/** Characters of a fault in `detail`. */
const shownCharactersMax = 200;

/** The faults where there are some, and then the remedy. */
function detailOf(code: RequestErrorCode, faults: readonly Fault[]): string {
  if (faults.length === 0) return adviceOf[code];
  const shown = faults.slice(0, shownFaultsMax).map(textOfFault).join('; ');
  const more = faults.length > shownFaultsMax ? `; and ${faults.length - shownFaultsMax} more faults` : '';
  // Of an invalid request, each fault says what is expected.
  return code === 'invalid_request' ? `${shown}${more}.` : `${shown}${more}. ${adviceOf[code]}`;
}

/** A fault as a sentence without its full stop, such as `options.width must be at least 1`. */
function textOfFault({ pointer, detail }: Fault): string {
  const field = pointer === '' ? 'The body' : pointer.slice(1).replaceAll('/', '.');
  const text = `${field} ${detail}`;
  return text.length > shownCharactersMax ? `${text.slice(0, shownCharactersMax)}…` : text;
}

const rawAdvice = {
  400: 'Send an HTTP request.',
  408: 'Send the head of a request within ten seconds, and all of it within a minute.',
  431: 'Send fewer or shorter headers.',
} as const;

/** The same document for what never became a request (malformed HTTP, headers over the limit). */
export function rawProblem(status: 400 | 408 | 431, traceId: string): string {
  return JSON.stringify({
    type: '/docs#problem-invalid_request',
    title: requestErrors.invalid_request.publicMessage,
    status,
    detail: rawAdvice[status],
    code: 'invalid_request',
    trace_id: traceId,
  });
}

function isRequestProblem(thrown: unknown): thrown is KnownProblem<RequestErrorCode> {
  return thrown instanceof KnownProblem && thrown.code in requestErrors;
}

function isClientStatus(status: unknown): boolean {
  return typeof status === 'number' && status >= 400 && status < 500;
}
