import { randomBytes } from 'node:crypto';
import type { Task } from '#domain/runner/task.ts';

/** What a span of a brief process says of itself, beside its name and its times. */
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

/** A collector that does not answer may hold a process up for so long. */
const sendTimeoutMs = 1_000;

/**
 * Tracing for a process that lives for one task: spans are kept, and sent once, as OTLP in JSON over HTTP. The SDK
 * takes half a second of processor time to load, which a step of a job does not have to spare.
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
      // Nobody is left who could do anything about it.
    }
  }
}

function isSampled({ traceparent }: NonNullable<Task['trace']>): boolean {
  return (Number.parseInt(traceparent.slice(53, 55), 16) & 1) === 1;
}

/** Nanoseconds since 1970 have more digits than a number; the clock tells microseconds. */
function nanosOf(timeMs: number): string {
  return `${BigInt(Math.round(timeMs * 1_000)) * 1_000n}`;
}

function attributesOf(attributes: Readonly<Record<string, string | number>>): Attribute[] {
  return Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === 'string' ? { stringValue: value } : { doubleValue: value },
  }));
}
