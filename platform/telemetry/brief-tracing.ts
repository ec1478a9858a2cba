import { randomBytes } from 'node:crypto';
import type { Task } from '#domain/work/task.ts';

/** The settings of a span of a short-lived process. */
export interface BriefSpanSettings {
  /** The span that this one belongs to; with null, or one that is not sampled, nothing is recorded. */
  readonly parent: Task['trace'];
  readonly attributes?: Readonly<Record<string, string | number>>;
}

interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly traceState?: string;
  readonly name: string;
  readonly kind: 1;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
  readonly status: { readonly code?: 2 };
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue: string } | { readonly doubleValue: number };
}

/** How long a collector that does not answer may delay the end of a process. */
const sendTimeoutMs = 1_000;

/**
 * Tracing for a process that lives for one task: spans are collected and sent once, as OTLP in JSON over HTTP. Loading
 * the SDK would add 0.1 to 0.2 s of processor time to every step
 * (docs/decisions/0111-short-processes-export-spans-themselves.md).
 */
export class BriefTracing {
  readonly #url: string;
  readonly #serviceName: string;
  #ended: OtlpSpan[] = [];

  /** `endpoint`: base address of an OTLP/HTTP collector (`OTEL_EXPORTER_OTLP_ENDPOINT`). */
  constructor({ endpoint, serviceName }: { readonly endpoint: string; readonly serviceName: string }) {
    this.#url = `${endpoint.replace(/\/+$/, '')}/v1/traces`;
    this.#serviceName = serviceName;
  }

  /** Runs `work` in a span of its own, which fails when `work` throws. */
  async withSpan<T>(name: string, { parent, attributes = {} }: BriefSpanSettings, work: () => Promise<T>): Promise<T> {
    if (parent === null || !isSampled(parent)) return await work();
    const startedAtMs = performance.timeOrigin + performance.now();
    let isFailed = true;
    try {
      const result = await work();
      isFailed = false;
      return result;
    } finally {
      this.#ended.push({
        traceId: parent.traceparent.slice(3, 35),
        spanId: randomBytes(8).toString('hex'),
        parentSpanId: parent.traceparent.slice(36, 52),
        ...(parent.tracestate === undefined ? {} : { traceState: parent.tracestate }),
        name,
        kind: 1,
        startTimeUnixNano: nanosOf(startedAtMs),
        endTimeUnixNano: nanosOf(performance.timeOrigin + performance.now()),
        attributes: attributesOf(attributes),
        status: isFailed ? { code: 2 } : {},
      });
    }
  }

  /** Sends what has ended, within a second. Never throws: a collector that is away loses spans. */
  async send(): Promise<void> {
    const spans = this.#ended;
    this.#ended = [];
    if (spans.length === 0) return;
    const resource = { attributes: attributesOf({ 'service.name': this.#serviceName }) };
    const body = { resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'reelwright' }, spans }] }] };
    try {
      const answer = await fetch(this.#url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        redirect: 'error',
        signal: AbortSignal.timeout(sendTimeoutMs),
      });
      await answer.arrayBuffer();
    } catch {
      // The process ends now: a lost span is not worth an error.
    }
  }
}

function isSampled({ traceparent }: NonNullable<Task['trace']>): boolean {
  return (Number.parseInt(traceparent.slice(53, 55), 16) & 1) === 1;
}

/** Nanoseconds since 1970 do not fit a number; the clock has microseconds. */
function nanosOf(timeMs: number): string {
  return `${BigInt(Math.round(timeMs * 1_000)) * 1_000n}`;
}

function attributesOf(attributes: Readonly<Record<string, string | number>>): Attribute[] {
  return Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === 'string' ? { stringValue: value } : { doubleValue: value },
  }));
}
