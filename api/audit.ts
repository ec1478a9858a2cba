import type { FastifyRequest } from 'fastify';
import { traceOf } from '#platform/http/tracing.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { traceIdOf } from '#platform/telemetry/trace-context.ts';
import { apiKeyId } from './hooks/api-key.ts';

type Change =
  | { readonly what: 'job submitted' | 'job retried' | 'job cancelled' | 'webhook redelivered'; readonly jobId: string }
  | { readonly what: 'media deletion requested' | 'media changed' | 'revision published'; readonly hash: string }
  | { readonly what: 'upload begun' | 'upload completed' | 'upload deleted'; readonly uploadId: string };

/** Logs who changed something: one line for each change, with a fixed message. */
export function audit(log: Logger, request: FastifyRequest, change: Change): void {
  const trace = traceOf(request);
  const fields = {
    ...subjectOf(change),
    key_id: apiKeyId(request),
    client_address: request.ip,
    route: `${request.method} ${request.routeOptions.url}`,
    trace_id: trace === null ? null : traceIdOf(trace),
  };
  log.info(fields, change.what);
}

/** What was changed, as log lines name it. */
function subjectOf(change: Change): Readonly<Record<string, string>> {
  if ('jobId' in change) return { job_id: change.jobId };
  return 'hash' in change ? { hash: change.hash } : { upload_id: change.uploadId };
}
