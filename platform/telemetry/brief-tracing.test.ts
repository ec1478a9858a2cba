import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BriefTracing } from './brief-tracing.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const parent = { traceparent: `00-${traceId}-b7ad6b7169203331-01`, tracestate: 'vendor=1' };

let collector: Server;
let endpoint: string;
let hangs: boolean;
const received: { path: string | undefined; body: unknown }[] = [];

beforeEach(async () => {
  hangs = false;
  received.length = 0;
  collector = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      received.push({ path: request.url, body: JSON.parse(body) });
      if (!hangs) response.end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(collector, 'listening');
  endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}/otlp/`;
});
afterEach(() => {
  collector.closeAllConnections();
  collector.close();
});

describe('tracing of a brief process', () => {
  it('tracing of a brief process records nothing without a parent, or when the trace is not sampled', async () => {
    const tracing = new BriefTracing({ endpoint, serviceName: 'a-service' });
    const unsampled = { traceparent: parent.traceparent.replace(/01$/, '00') };
    for (const none of [null, unsampled]) await tracing.withSpan('one', { parent: none }, async () => {});
    await tracing.send();
    expect(received).toEqual([]);
  });

  it('tracing of a brief process is not held up by a collector that hangs, and not stopped by one that is away', async () => {
    hangs = true;
    const began = performance.now();
    for (const address of [endpoint, 'http://127.0.0.1:9']) {
      const tracing = new BriefTracing({ endpoint: address, serviceName: 'a-service' });
      await tracing.withSpan('one', { parent }, async () => {});
      await tracing.send();
    }
    expect(performance.now() - began).toBeLessThan(2_500);
  });
});
