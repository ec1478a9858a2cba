import { createRequire } from 'node:module';
import { type Attributes, context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import type { TraceContext } from '#domain/jobs/job.ts';
import { LocalTracerProvider } from './local-tracing.ts';
import { spanContextOf, traceContextOf } from './trace-context.ts';

export interface Tracing {
  /** Sends the spans that were not sent yet, within a few seconds, and ends tracing in this process. Never throws. */
  shutdown(): Promise<void>;
}

let isExporting = false;

/** Whether spans leave this process. Where they do not, a request needs the id of its trace only. */
export function areSpansExported(): boolean {
  return isExporting;
}

export interface TracingOptions {
  /** Base address of an OTLP/HTTP collector (`OTEL_EXPORTER_OTLP_ENDPOINT`); null: spans stay in this process. */
  readonly endpoint: string | null;
  readonly serviceName: string;
}

/** Starts tracing in this process, once. The SDK is loaded only with an endpoint. */
export function startTracing({ endpoint, serviceName }: TracingOptions): Tracing {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager());
  if (endpoint === null) {
    trace.setGlobalTracerProvider(new LocalTracerProvider());
    return { shutdown: () => Promise.resolve(forget()) };
  }
  const sdk = exportingSdk(endpoint, serviceName);
  sdk.start();
  isExporting = true;
  return {
    shutdown: async () => {
      // A collector that does not answer loses spans; it must not delay a shutdown.
      await sdk.shutdown().catch(() => undefined);
      forget();
    },
  };
}

/** Loads the SDK, which takes 0.2 s of processor time. */
function exportingSdk(endpoint: string, serviceName: string) {
  const require = createRequire(import.meta.url);
  const { NodeSDK } = require('@opentelemetry/sdk-node') as typeof import('@opentelemetry/sdk-node');
  const { OTLPTraceExporter } =
    require('@opentelemetry/exporter-trace-otlp-http') as typeof import('@opentelemetry/exporter-trace-otlp-http');
  return new NodeSDK({
    serviceName,
    traceExporter: new OTLPTraceExporter({ url: `${endpoint.replace(/\/+$/, '')}/v1/traces`, timeoutMillis: 3000 }),
    contextManager: new AsyncLocalStorageContextManager(),
    // Headers are read and written in trace-context.ts; metrics and logs are not exported by OTLP.
    textMapPropagator: null,
    metricReaders: [],
    logRecordProcessors: [],
    instrumentations: [],
    autoDetectResources: false,
  });
}

function forget(): void {
  isExporting = false;
  trace.disable();
  context.disable();
}

export interface SpanSettings {
  /** The span that this one belongs to: read from headers, a ticket or a task. Absent: the active span, or none. */
  readonly parent?: TraceContext | null | undefined;
  /** Spans of other traces that led to this one. */
  readonly links?: readonly TraceContext[];
  /** `internal` by default. */
  readonly kind?: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  readonly attributes?: Attributes;
  /** When the span began, if that was before now. */
  readonly startedAt?: Date | null;
}

/** A span that has not ended. */
export interface RunningSpan {
  /** The headers with which another process continues this span. */
  readonly trace: TraceContext;
  /** Runs `work` with this span active: `currentTrace()` and new spans in it see it, also after awaits. */
  run<T>(work: () => T): T;
  setAttributes(attributes: Attributes): void;
  /** Marks the span as failed, with the error's message, which must have no secret. */
  fail(error: unknown): void;
  end(): void;
}

const spanKinds = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;

/** Starts a span; the caller ends it. */
export function startSpan(
  name: string,
  { parent, links = [], kind = 'internal', attributes, startedAt = null }: SpanSettings = {},
): RunningSpan {
  const around =
    parent === undefined || parent === null
      ? context.active()
      : trace.setSpanContext(ROOT_CONTEXT, spanContextOf(parent));
  const options = {
    kind: spanKinds[kind],
    links: links.map((link) => ({ context: spanContextOf(link) })),
    ...(attributes === undefined ? {} : { attributes }),
    ...(startedAt === null ? {} : { startTime: startedAt }),
  };
  const span = trace.getTracer('reelwright').startSpan(name, options, around);
  return {
    trace: traceContextOf(span.spanContext()),
    run: (work) => context.with(trace.setSpan(around, span), work),
    setAttributes: (more) => void span.setAttributes(more),
    fail: (error) => {
      if (error instanceof Error) span.recordException(error);
      span.setStatus({ code: SpanStatusCode.ERROR });
    },
    end: () => span.end(),
  };
}

/** Runs `work` in a span of its own, which fails when `work` throws. */
export async function withSpan<T>(
  name: string,
  settings: SpanSettings,
  work: (span: RunningSpan) => Promise<T>,
): Promise<T> {
  const span = startSpan(name, settings);
  try {
    return await span.run(() => work(span));
  } catch (error) {
    span.fail(error);
    throw error;
  } finally {
    span.end();
  }
}

/** The active span's context; null outside of any. */
export function currentTrace(): TraceContext | null {
  const active = trace.getSpanContext(context.active());
  return active === undefined ? null : traceContextOf(active);
}
