import { createTraceState, isSpanContextValid, type SpanContext, TraceFlags } from '@opentelemetry/api';
import type { TraceContext } from '#domain/jobs/job.ts';
import { randomTraceId } from './local-tracing.ts';

// W3C Trace Context, level 1: the headers `traceparent` and `tracestate`, as text and as OpenTelemetry has them.

const traceparentForm = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const tracestateLengthMax = 512;

/**
 * The trace context of a request's or a ticket's headers, with the version written as 00; null when `traceparent` is
 * missing or malformed (W3C Trace Context then begins a new trace). A malformed `tracestate` is left out.
 */
export function readTraceContext(traceparent: HeaderValue, tracestate?: HeaderValue): TraceContext | null {
  const [, version, traceId = '', spanId = '', flags = '', rest] = traceparentForm.exec(headerText(traceparent)) ?? [];
  // Version 00 has nothing after the flags; later versions may; ff is forbidden.
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return null;
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED;
  if (!isSpanContextValid({ traceId, spanId, traceFlags })) return null;
  const givenState = headerText(tracestate);
  const state = givenState.length > tracestateLengthMax ? '' : createTraceState(givenState).serialize();
  const normal = `00-${traceId}-${spanId}-0${traceFlags}`;
  return state === '' ? { traceparent: normal } : { traceparent: normal, tracestate: state };
}

/** A header that stands in a request several times is a list, and is taken for missing. */
type HeaderValue = string | readonly string[] | null | undefined;

function headerText(header: HeaderValue): string {
  return typeof header === 'string' ? header : '';
}

/** The trace id, 32 hex characters: what `X-Trace-ID` says. */
export function traceIdOf(trace: TraceContext): string {
  return trace.traceparent.slice(3, 35);
}

/** The headers of a span: what is sent along, or written into a ticket or a task. */
export function traceContextOf({ traceId, spanId, traceFlags, traceState }: SpanContext): TraceContext {
  const traceparent = `00-${traceId}-${spanId}-0${traceFlags & TraceFlags.SAMPLED}`;
  const tracestate = traceState?.serialize() ?? '';
  return tracestate === '' ? { traceparent } : { traceparent, tracestate };
}

/** A context that was read, as OpenTelemetry wants the parent of a span. */
export function spanContextOf({ traceparent, tracestate }: TraceContext): SpanContext {
  return {
    traceId: traceparent.slice(3, 35),
    spanId: traceparent.slice(36, 52),
    traceFlags: Number.parseInt(traceparent.slice(53, 55), 16),
    isRemote: true,
    ...(tracestate === undefined ? {} : { traceState: createTraceState(tracestate) }),
  };
}

/** The trace id of a request that gets no span: its caller's, or a new one. */
export function traceIdWithoutSpan(traceparent?: HeaderValue): string {
  const given = traceparent === undefined ? null : readTraceContext(traceparent);
  return given === null ? randomTraceId() : traceIdOf(given);
}
