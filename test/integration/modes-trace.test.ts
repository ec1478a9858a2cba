import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { startCollector } from '../../testing/collector.ts';
import { until } from '../../testing/controller-rig.ts';
import { migratedDatabase, type TestDatabase } from '../../testing/databases.ts';
import { endPrograms, secrets, startProgram } from '../../testing/programs.ts';

describe.skipIf(!inject('postgres'))('the trace of one job', () => {
  let dir: string;
  let database: TestDatabase;
  let collector: Awaited<ReturnType<typeof startCollector>>;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'reelwright-trace-'));
    for (const name of ['source', 'media']) await mkdir(join(dir, name));
    const create = { width: 64, height: 48, channels: 3 as const, background: 'red' };
    await sharp({ create })
      .png()
      .toFile(join(dir, 'source', 'red.png'));
    database = await migratedDatabase();
    collector = await startCollector();
  });
  afterAll(async () => {
    await endPrograms();
    collector.close();
    await database.drop();
    await rm(dir, { recursive: true, force: true });
  });

  it('the trace of one job has one id from the request over the attempt to the webhook, as an OTLP collector sees it', async () => {
    const { origin, spans, webhooks } = collector;
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
