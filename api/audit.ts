import type { FastifyRequest } from 'fastify';
import type { ApiKey } from '#domain/keys/api-key.ts';
import { traceOf } from '#platform/http/tracing.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { traceIdOf } from '#platform/telemetry/trace-context.ts';
import { apiKeyId, apiKeyOf } from './hooks/api-key.ts';

type JobChange = 'job submitted' | 'job retried' | 'job made again' | 'job cancelled' | 'webhook redelivered';
type RolloutChange =
  | 'rollout begun'
  | 'rollout paused'
  | 'rollout resumed'
  | 'rollout rollback requested'
  | 'rollout cancellation requested';
type Change =
  | { readonly what: JobChange; readonly jobId: string }
  | {
      readonly what: 'media deletion requested' | 'media changed' | 'revision published' | 'tickets withdrawn';
      readonly hash: string;
    }
  | { readonly what: 'upload begun' | 'upload completed' | 'upload deleted'; readonly uploadId: string }
  | { readonly what: 'import begun' | 'import cancelled'; readonly importId: string }
  | { readonly what: RolloutChange; readonly rolloutId: string }
  | { readonly what: 'session begun' | 'session ended'; readonly sessionId: string }
  | { readonly what: 'API key made' | 'API key revoked'; readonly apiKey: Pick<ApiKey, 'id' | 'name'> };

/** A caller: what a line of the log says of a request. */
interface Caller {
  readonly key_id: string;
  /** Absent without an API key. */
  readonly key_name?: string;
  readonly client_address: string;
  readonly route: string;
  readonly trace_id: string | null;
}

/** Who sent a request. */
export function callerOf(request: FastifyRequest): Caller {
  const trace = traceOf(request);
  const key = apiKeyOf(request);
  return {
    key_id: apiKeyId(request),
    ...(key === null ? {} : { key_name: key.name }),
    client_address: request.ip,
    route: `${request.method} ${request.routeOptions.url}`,
    trace_id: trace === null ? null : traceIdOf(trace),
  };
}

/** Logs who changed something: one line for each change, with a fixed message. */
export function audit(log: Logger, request: FastifyRequest, change: Change): void {
  log.info({ ...subjectOf(change), ...callerOf(request) }, change.what);
}

/** The ids of the changed object, as log lines name them. */
function subjectOf(change: Change): Readonly<Record<string, string>> {
  if ('jobId' in change) return { job_id: change.jobId };
  if ('importId' in change) return { import_id: change.importId };
  if ('rolloutId' in change) return { rollout_id: change.rolloutId };
  if ('sessionId' in change) return { session_id: change.sessionId };
  if ('apiKey' in change) return { changed_key_id: change.apiKey.id, changed_key_name: change.apiKey.name };
  return 'hash' in change ? { hash: change.hash } : { upload_id: change.uploadId };
}
