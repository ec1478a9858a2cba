import type { FastifyRequest } from 'fastify';
import { traceOf } from '#platform/http/tracing.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { traceIdOf } from '#platform/telemetry/trace-context.ts';
import { apiKeyId } from './hooks/api-key.ts';

type Change =
  | { readonly what: 'job submitted' | 'job retried' | 'job cancelled' | 'webhook redelivered'; readonly jobId: string }
  | { readonly what: 'media deletion requested' | 'media changed' | 'revision published'; readonly hash: string };

/** Logs who changed a job or a media: one line for each change, with a fixed message. */
export function audit(log: Logger, request: FastifyRequest, change: Change): void {
  const trace = traceOf(request);
  const fields = {
    ...('jobId' in change ? { job_id: change.jobId } : { hash: change.hash }),
    key_id: apiKeyId(request),
    client_address: request.ip,
    route: `${request.method} ${request.routeOptions.url}`,
    trace_id: trace === null ? null : traceIdOf(trace),
  };
  log.info(fields, change.what);
}
