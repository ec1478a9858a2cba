import { AsyncLocalStorage } from 'node:async_hooks';
import { randomFillSync } from 'node:crypto';
import {
  type Context,
  type ContextManager,
  context,
  ROOT_CONTEXT,
  type Span,
  type SpanOptions,
  trace,
  TraceFlags,
  type Tracer,
  type TracerProvider,
} from '@opentelemetry/api';

/**
 * Spans that are not exported: they have ids and parents, so that traces go on through this process, and record
 * nothing. The SDK takes half a second to load, which a process that exports nothing does not spend.
 */
export class LocalTracerProvider implements TracerProvider {
  readonly #tracer = new LocalTracer();

  getTracer(): Tracer {
    return this.#tracer;
  }
}

class LocalTracer implements Tracer {
  startSpan(_name: string, options: SpanOptions = {}, parentContext: Context = context.active()): Span {
    const parent = options.root === true ? undefined : trace.getSpanContext(parentContext);
    return trace.wrapSpanContext({
      traceId: parent?.traceId ?? randomId(16),
      spanId: randomId(8),
      traceFlags: parent?.traceFlags ?? TraceFlags.SAMPLED,
      ...(parent?.traceState === undefined ? {} : { traceState: parent.traceState }),
    });
  }

  startActiveSpan<Work extends (span: Span) => unknown>(
    name: string,
    ...rest: [Work] | [SpanOptions, Work] | [SpanOptions, Context, Work]
  ): ReturnType<Work> {
    const work = rest.at(-1) as Work;
    const options = rest.length > 1 ? (rest[0] as SpanOptions) : {};
    const parent = rest.length > 2 ? (rest[1] as Context) : context.active();
    const span = this.startSpan(name, options, parent);
    return context.with(trace.setSpan(parent, span), () => work(span)) as ReturnType<Work>;
  }
}

/** Randomness for some 300 ids at once: asking for each by itself is a tenth of answering a small request. */
const randomPool = Buffer.alloc(4096);
let usedBytes = randomPool.length;

/** An id of zeros is invalid (W3C Trace Context, 3.2.2.3). */
function randomId(bytes: number): string {
  if (usedBytes + bytes > randomPool.length) {
    randomFillSync(randomPool);
    usedBytes = 0;
  }
  const id = randomPool.toString('hex', usedBytes, usedBytes + bytes);
  usedBytes += bytes;
  return /^0+$/.test(id) ? randomId(bytes) : id;
}

/** Carries the active context across awaits. */
export class AsyncContextManager implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>();

  active(): Context {
    return this.#storage.getStore() ?? ROOT_CONTEXT;
  }

  with<Args extends unknown[], Work extends (...args: Args) => ReturnType<Work>>(
    active: Context,
    work: Work,
    thisArg?: ThisParameterType<Work>,
    ...args: Args
  ): ReturnType<Work> {
    return this.#storage.run(active, () => work.apply(thisArg, args));
  }

  bind<T>(active: Context, target: T): T {
    if (typeof target !== 'function') return target;
    const bound = (...args: unknown[]) =>
      this.#storage.run(active, () => (target as (...a: unknown[]) => unknown)(...args));
    return bound as T;
  }

  enable(): this {
    return this;
  }

  disable(): this {
    this.#storage.disable();
    return this;
  }
}
