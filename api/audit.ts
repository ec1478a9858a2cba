import type { FastifyRequest } from 'fastify';
import { traceOf } from '#platform/http/tracing.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { traceIdOf } from '#platform/telemetry/trace-context.ts';
import { apiKeyId } from './hooks/api-key.ts';

type Change = 'job submitted' | 'job retried' | 'job cancelled' | 'webhook redelivered';

/** Logs who changed a job: one line for each change and job, with a fixed message. */
export function audit(log: Logger, request: FastifyRequest, change: { readonly what: Change; jobId: string }): void {
  const trace = traceOf(request);
  const fields = {
    job_id: change.jobId,
    key_id: apiKeyId(request),
    client_address: request.ip,
    route: `${request.method} ${request.routeOptions.url}`,
    trace_id: trace === null ? null : traceIdOf(trace),
  };
  log.info(fields, change.what);
}
