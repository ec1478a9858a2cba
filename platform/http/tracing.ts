import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TraceContext } from '#domain/jobs/job.ts';
import { readTraceContext, traceIdOf } from '../telemetry/trace-context.ts';
import { type RunningSpan, startSpan } from '../telemetry/tracing.ts';
import { routeLabel } from './route-label.ts';

// W3C Trace Context (C25.16, C25.17): a request continues its caller's trace, or begins one. Every answer has the
// trace's id in `X-Trace-ID`, and a submission passes the context on to its ticket.

declare module 'fastify' {
  interface FastifyRequest {
    span: RunningSpan | null;
  }
}

export function addTracing(app: FastifyInstance): void {
  app.decorateRequest('span', null);
  app.addHook('onRequest', async (request, reply) => {
    beginTrace(request, reply);
  });
  app.addHook('onResponse', async (request, reply) => {
    request.span?.setAttributes({ 'http.response.status_code': reply.statusCode });
    request.span?.end();
  });
  app.addHook('onError', async (request, reply, error) => {
    if (reply.statusCode >= 500) request.span?.fail(error);
  });
}

/** Begins the trace of a request; also called for a request without one, whose address could not be parsed. */
function beginTrace(request: FastifyRequest, reply: FastifyReply): TraceContext {
  const route = routeLabel(request);
  const { traceparent, tracestate } = request.headers;
  const parent = readTraceContext(traceparent, tracestate);
  const attributes = { 'http.request.method': request.method, 'http.route': route };
  const span = startSpan(`${request.method} ${route}`, { parent, kind: 'server', attributes });
  request.span = span;
  reply.header('x-trace-id', traceIdOf(span.trace));
  return span.trace;
}

/** The trace of a request, for its ticket and its webhook; null before the first hook has run. */
export function traceOf(request: FastifyRequest): TraceContext | null {
  return request.span?.trace ?? null;
}

/** The id of a request's trace, which begins here for a request that no hook has handled. */
export function traceIdOfRequest(request: FastifyRequest, reply: FastifyReply): string {
  return traceIdOf(traceOf(request) ?? beginTrace(request, reply));
}
