import { randomBytes } from 'node:crypto';
import {
  context,
  isSpanContextValid,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { TraceContext } from '#domain/jobs/job.ts';

// W3C Trace Context (section 4, "Tracing headers"): a request goes on with its caller's trace, or begins one; every
// answer says the trace's id in `X-Trace-ID`, and a submission hands the context on to its ticket.

interface RequestTrace {
  readonly span: Span | null;
  readonly traceId: string;
  readonly context: TraceContext;
}

declare module 'fastify' {
  interface FastifyRequest {
    trace: RequestTrace | null;
  }
}

const traceparentForm = /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-.*)?$/;

/** The trace of a request as its ticket and its webhook carry it on. */
export function traceContextOf(request: FastifyRequest): TraceContext | null {
  return request.trace?.context ?? null;
}

/** 32 hex characters. */
export function traceIdOf(request: FastifyRequest): string | undefined {
  return request.trace?.traceId;
}

export function addTracing(app: FastifyInstance): void {
  app.decorateRequest('trace', null);
  app.addHook('onRequest', async (request, reply) => {
    request.trace = startTrace(request);
    reply.header('x-trace-id', request.trace.traceId);
  });
  app.addHook('onResponse', async (request, reply) => {
    const span = request.trace?.span;
    if (!span) return;
    span.setAttribute('http.response.status_code', reply.statusCode);
    if (reply.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  });
}

function startTrace(request: FastifyRequest): RequestTrace {
  const incoming = incomingContext(request);
  const parent = propagation.extract(context.active(), incoming ?? {});
  const route = request.routeOptions.url ?? 'unmatched';
  const span = trace
    .getTracer('api')
    .startSpan(
      `${request.method} ${route}`,
      { kind: SpanKind.SERVER, attributes: { 'http.request.method': request.method, 'http.route': route } },
      parent,
    );
  const { traceId, spanId, traceFlags } = span.spanContext();
  if (!isSpanContextValid(span.spanContext())) return { span: null, ...untracedContext(incoming) };
  return { span, traceId, context: contextOf(traceId, spanId, traceFlags, incoming?.tracestate) };
}

/** Without a tracer (no SDK was started) the caller's trace is still carried on. */
function untracedContext(incoming: TraceContext | null): Pick<RequestTrace, 'traceId' | 'context'> {
  const [, givenTraceId, , givenFlags] = traceparentForm.exec(incoming?.traceparent ?? '') ?? [];
  const traceId = givenTraceId ?? randomBytes(16).toString('hex');
  const flags = givenFlags === undefined ? 0 : Number.parseInt(givenFlags, 16);
  return { traceId, context: contextOf(traceId, randomBytes(8).toString('hex'), flags, incoming?.tracestate) };
}

function contextOf(traceId: string, spanId: string, flags: number, tracestate: string | undefined): TraceContext {
  const traceparent = `00-${traceId}-${spanId}-${(flags & 1).toString(16).padStart(2, '0')}`;
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
}

function incomingContext(request: FastifyRequest): TraceContext | null {
  const { traceparent, tracestate } = request.headers;
  if (typeof traceparent !== 'string') return null;
  const [, traceId, spanId] = traceparentForm.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  if (traceparent.startsWith('ff')) return null;
  // A tracestate over 512 characters need not be carried on (W3C Trace Context, section 3.3.1.5).
  return typeof tracestate === 'string' && tracestate !== '' && tracestate.length <= 512
    ? { traceparent, tracestate }
    : { traceparent };
}
