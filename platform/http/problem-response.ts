import type { FastifyReply, FastifyRequest } from 'fastify';
import { KnownProblem, type RequestErrorCode, requestErrors } from '#domain/errors.ts';
import { traceIdOf } from '../telemetry/trace-context.ts';
import { beginTrace, traceOf } from './tracing.ts';

// Every refusal of the JSON API is one RFC 9457 problem document (C7.19).

/** The HTTP status of each code. */
const statusOf = {
  invalid_json: 400,
  invalid_request: 400,
  source_missing: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  not_retryable: 409,
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

/** Refusals of the framework by its own codes; any other of its 4xx is an invalid request. */
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

/** Answers a problem. Headers that were set before stay, such as those of a rate limit. */
export function sendProblem(
  request: FastifyRequest,
  reply: FastifyReply,
  problem: KnownProblem<RequestErrorCode>,
): FastifyReply {
  const status = statusOf[problem.code];
  const faults = problem.details.faults ?? [];
  reply.code(status).header('cache-control', 'no-store').header('content-type', 'application/problem+json');
  for (const name of ['etag', 'last-modified', 'content-encoding', 'accept-ranges', 'content-length'])
    reply.removeHeader(name);
  const trace = traceOf(request) ?? beginTrace(request, reply);
  const path = request.url.split('?', 1)[0] ?? '';
  // As bytes: to text the framework would add a charset, which this media type does not have (RFC 9457, section 6.1).
  return reply.send(
    Buffer.from(
      JSON.stringify({
        type: `/docs#problem-${problem.code}`,
        title: requestErrors[problem.code].publicMessage,
        status,
        detail: problem.message,
        instance: path.slice(0, 256),
        code: problem.code,
        trace_id: traceIdOf(trace),
        ...(faults.length === 0 ? {} : { errors: faults }),
      }),
    ),
  );
}

/** The same document for what could not be parsed as a request (malformed HTTP, headers over the limit). */
export function rawProblem(status: 400 | 408 | 431): string {
  const title = requestErrors.invalid_request.publicMessage;
  return JSON.stringify({
    type: '/docs#problem-invalid_request',
    title,
    status,
    detail: title,
    code: 'invalid_request',
  });
}

function isRequestProblem(thrown: unknown): thrown is KnownProblem<RequestErrorCode> {
  return thrown instanceof KnownProblem && thrown.code in requestErrors;
}

function isClientStatus(status: unknown): boolean {
  return typeof status === 'number' && status >= 400 && status < 500;
}
