import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { readTraceContext, traceIdOf } from './trace-context.ts';
import { currentTrace, startSpan, startTracing, type Tracing, withSpan } from './tracing.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';
const traceparent = `00-${traceId}-${spanId}-01`;

describe('reading a trace context', () => {
  it.each([
    [traceparent, traceparent],
    [`00-${traceId}-${spanId}-00`, `00-${traceId}-${spanId}-00`],
    [`00-${traceId}-${spanId}-ff`, traceparent],
    [`cc-${traceId}-${spanId}-01`, traceparent],
    [`cc-${traceId}-${spanId}-01-what-the-future-brings`, traceparent],
  ])('the trace context %s is read as %s', (given, expected) => {
    expect(readTraceContext(given)).toEqual({ traceparent: expected });
  });

  it.each([
    undefined,
    null,
    '',
    'nonsense',
    `ff-${traceId}-${spanId}-01`,
    `00-${traceId}-${spanId}-01-more`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${traceId}-${spanId}`,
    ` ${traceparent}`,
  ])('the trace context %j is refused', (given) => {
    expect(readTraceContext(given)).toBeNull();
  });

  it('a valid tracestate is kept, and any other dropped', () => {
    expect(readTraceContext(traceparent, 'vendor=a,other=b')).toEqual({ traceparent, tracestate: 'vendor=a,other=b' });
    for (const wrong of ['', '===', 'x'.repeat(600), 'UPPER=1']) {
      expect(readTraceContext(traceparent, wrong)).toEqual({ traceparent });
    }
  });

  it('a trace context gives the trace id for X-Trace-ID', () => {
    expect(traceIdOf({ traceparent })).toBe(traceId);
  });
});

const work = async (name: string) =>
  withSpan(name, {}, async (span) => {
    await sleep(5);
    expect(currentTrace()).toEqual(span.trace);
    await withSpan('inner', {}, async (inner) => {
      await sleep(1);
      expect(traceIdOf(inner.trace)).toBe(traceIdOf(span.trace));
      expect(currentTrace()).toEqual(inner.trace);
    });
    expect(currentTrace()).toEqual(span.trace);
  });

let tracing: Tracing | undefined;
afterEach(async () => {
  await tracing?.shutdown();
  tracing = undefined;
});

describe('spans that are not exported', () => {
  it('begin a trace, with ids of their own', () => {
    tracing = startTracing({ endpoint: null, serviceName: 'test' });
    const [one, other] = [startSpan('one'), startSpan('other')];
    for (const span of [one, other]) expect(span.trace.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    expect(traceIdOf(one.trace)).not.toBe(traceIdOf(other.trace));
  });

  it('go on with the trace of their parent, its flag and its state', () => {
    tracing = startTracing({ endpoint: null, serviceName: 'test' });
    const parent = { traceparent: `00-${traceId}-${spanId}-00`, tracestate: 'vendor=a' };
    const span = startSpan('child', { parent });
    expect(span.trace.traceparent).toMatch(new RegExp(`^00-${traceId}-(?!${spanId})[0-9a-f]{16}-00$`));
    expect(span.trace.tracestate).toBe('vendor=a');
  });

  it('spans that are not exported are the current one in what they run, after awaits as well, and apart from each other', async () => {
    tracing = startTracing({ endpoint: null, serviceName: 'test' });
    expect(currentTrace()).toBeNull();
    await Promise.all([work('a'), work('b')]);
    expect(currentTrace()).toBeNull();
  });

  it('cost nothing before tracing was started, and nothing breaks', async () => {
    expect(await withSpan('early', {}, () => Promise.resolve(5))).toBe(5);
    expect(currentTrace()).toBeNull();
  });
});

describe('spans that are exported', () => {
  it('spans that are exported do not hold up the process when the collector is away', async () => {
    tracing = startTracing({ endpoint: 'http://127.0.0.1:1', serviceName: 'test' });
    startSpan('lost').end();
    const start = performance.now();
    await tracing.shutdown();
    expect(performance.now() - start).toBeLessThan(8000);
  });
});
