import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { until } from '../support/controller-rig.ts';
import { migratedDatabase, type TestDatabase } from '../support/databases.ts';
import { endPrograms, secrets, startProgram } from '../support/programs.ts';

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
}

interface Export {
  readonly resourceSpans: { readonly scopeSpans: { readonly spans: Span[] }[] }[];
}

describe.skipIf(!inject('postgres'))('the trace of one job', () => {
  let dir: string;
  let database: TestDatabase;
  /** An OTLP collector and a webhook's receiver in one. */
  let listener: Server;
  let origin: string;
  const spans: Span[] = [];
  const webhooks: IncomingHttpHeaders[] = [];

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'reelwright-trace-'));
    for (const name of ['source', 'media']) await mkdir(join(dir, name));
    const create = { width: 64, height: 48, channels: 3 as const, background: 'red' };
    await sharp({ create })
      .png()
      .toFile(join(dir, 'source', 'red.png'));
    database = await migratedDatabase();
    listener = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      request.on('end', () => {
        if (request.url === '/v1/traces') {
          const { resourceSpans } = JSON.parse(body) as Export;
          spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
        } else webhooks.push(request.headers);
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      });
    }).listen(0, '127.0.0.1');
    await once(listener, 'listening');
    origin = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    await endPrograms();
    listener.close();
    await database.drop();
    await rm(dir, { recursive: true, force: true });
  });

  it('has one id from the request over the attempt to the webhook, as an OTLP collector sees it', async () => {
    const program = await startProgram({
      env: {
        ...secrets,
        DATABASE_URL: database.url,
        REDIS_URL: 'embedded:',
        SOURCE_BUCKET: `file:${join(dir, 'source')}`,
        MEDIA_BUCKET: `file:${join(dir, 'media')}`,
        WORK_DIR: dir,
        WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
        OTEL_EXPORTER_OTLP_ENDPOINT: origin,
      },
    });
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const answer = await fetch(`${program.url}/api/jobs`, {
      method: 'POST',
      headers: {
        'x-api-key': secrets.API_KEY,
        'content-type': 'application/json',
        traceparent: `00-${traceId}-b7ad6b7169203331-01`,
        tracestate: 'vendor=1',
      },
      body: JSON.stringify({
        type: 'image:thumbnail',
        hash: 'red-1',
        source: 'red.png',
        callback_url: `${origin}/hook`,
      }),
    });
    expect([answer.status, answer.headers.get('x-trace-id')]).toEqual([202, traceId]);
    const headers = await until(
      () => webhooks[0] as IncomingHttpHeaders,
      (found) => found !== undefined,
      60_000,
    );
    expect(headers).toMatchObject({ 'x-trace-id': traceId, tracestate: 'vendor=1' });
    program.signal('SIGTERM');
    expect(await program.ended).toBe(0);

    const ofJob = spans.filter((span) => span.traceId === traceId);
    const names = ofJob.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['attempt', 'webhook']));
    expect(ofJob.some(({ parentSpanId }) => parentSpanId === 'b7ad6b7169203331')).toBe(true);
    // Every other span hangs below one of the same trace.
    const ids = new Set([...ofJob.map(({ spanId }) => spanId), 'b7ad6b7169203331']);
    expect(ofJob.filter(({ parentSpanId }) => !ids.has(parentSpanId ?? ''))).toEqual([]);
    const sent = ofJob.find(({ name }) => name === 'webhook');
    expect(headers['traceparent']).toBe(`00-${traceId}-${sent?.spanId}-01`);
  });
});
