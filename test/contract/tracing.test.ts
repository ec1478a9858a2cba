import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { startCollector } from '../../testing/collector.ts';
import { until } from '../../testing/controller-rig.ts';
import { migratedDatabase, type TestDatabase } from '../../testing/databases.ts';
import { endPrograms, secrets, startProgram } from '../../testing/programs.ts';
import { makeVideo } from '../../testing/media.ts';
import { startApi } from './api-under-test.ts';

// docs/reference/contract.md, "Traces".

const traceId = '0af7651916cd43dd8448eb211c80319c';
const callersSpan = 'b7ad6b7169203331';

describe.skipIf(!inject('postgres'))('the trace of one job over server, worker, runner and webhook', () => {
  let dir: string;
  let database: TestDatabase;
  let collector: Awaited<ReturnType<typeof startCollector>>;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'reelwright-tracing-'));
    for (const name of ['source', 'media', 'work']) await mkdir(join(dir, name));
    await makeVideo({ path: join(dir, 'source', 'clip.mp4'), seconds: 1, width: 128, height: 72 });
    database = await migratedDatabase();
    collector = await startCollector();
  });
  afterAll(async () => {
    await endPrograms();
    collector.close();
    await database.drop();
    await rm(dir, { recursive: true, force: true });
  });

  it('C25.16, C24.8: one trace goes from the request through queue, worker and runner to the webhook, as a collector sees it', async () => {
    const env = {
      ...secrets,
      DATABASE_URL: database.url,
      REDIS_URL: 'embedded:',
      SOURCE_BUCKET: `file:${join(dir, 'source')}`,
      MEDIA_BUCKET: `file:${join(dir, 'media')}`,
      WORK_DIR: join(dir, 'work'),
      WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin,
    };
    const server = await startProgram({ args: ['--mode=server'], env });
    const worker = await startProgram({ args: ['--mode=worker'], env });
    const answer = await fetch(`${server.url}/api/jobs`, {
      method: 'POST',
      headers: {
        'x-api-key': secrets.API_KEY,
        'content-type': 'application/json',
        traceparent: `00-${traceId}-${callersSpan}-01`,
        tracestate: 'vendor=1',
      },
      body: JSON.stringify({
        type: 'video:cover',
        hash: 'clip-1',
        source: 'clip.mp4',
        callback_url: `${collector.origin}/hook`,
      }),
    });
    expect([answer.status, answer.headers.get('x-trace-id')]).toEqual([202, traceId]);
    await until(
      () => collector.webhooks.length,
      (count) => count > 0,
      60_000,
    );
    for (const program of [worker, server]) {
      program.signal('SIGTERM');
      expect(await program.ended).toBe(0);
    }

    const spans = collector.spans.filter((span) => span.traceId === traceId);
    const nameOf = new Map(spans.map(({ spanId, name }) => [spanId, name]));
    nameOf.set(callersSpan, 'the caller');
    const inOrder = spans.toSorted((a, b) => (BigInt(a.startTimeUnixNano) < BigInt(b.startTimeUnixNano) ? -1 : 1));
    const links = inOrder.map(({ service, name, parentSpanId = '' }) => [service, name, nameOf.get(parentSpanId)]);
    expect(links).toEqual([
      ['reelwright', 'POST /api/jobs', 'the caller'],
      ['reelwright', 'admission', 'POST /api/jobs'],
      ['reelwright', 'attempt', 'POST /api/jobs'],
      ['reelwright-runner', 'step fetch', 'attempt'],
      ['reelwright-runner', 'step process', 'attempt'],
      ['reelwright-runner', 'step publish', 'attempt'],
      ['reelwright', 'completion', 'attempt'],
      ['reelwright', 'webhook', 'POST /api/jobs'],
    ]);
    const { job_id: id } = (await answer.json()) as { job_id: string };
    const attempt = spans.find(({ name }) => name === 'attempt');
    expect(Object.fromEntries((attempt?.attributes ?? []).map(({ key, value }) => [key, value]))).toMatchObject({
      'job.id': { stringValue: id },
      'job.type': { stringValue: 'video:cover' },
      'job.attempt': { intValue: 1 },
      'job.result': { stringValue: 'completed' },
    });
    // C25.17
    const sent = spans.find(({ name }) => name === 'webhook');
    expect(collector.webhooks[0]).toMatchObject({
      traceparent: `00-${traceId}-${sent?.spanId}-01`,
      tracestate: 'vendor=1',
      'x-trace-id': traceId,
    });
  });
});

it('C25.17: every answer carries X-Trace-ID, and traceparent decides it', async () => {
  const api = await startApi();
  try {
    const paths = [
      ['GET', '/healthz'],
      ['GET', '/readyz'],
      ['GET', '/metrics'],
      ['GET', '/openapi.json'],
      ['GET', '/docs'],
      ['GET', '/player/'],
      ['POST', '/api/jobs'],
      ['GET', '/api/jobs'],
      ['GET', '/api/jobs/none'],
      ['POST', '/api/jobs/none/retry'],
      ['DELETE', '/api/jobs/none'],
      ['GET', '/stream/h/master.m3u8'],
      ['GET', '/stream/h/%2e%2e/master.m3u8'],
      ['GET', '/stream/%zz'],
      ['HEAD', '/stream/h/none.m4s'],
      ['OPTIONS', '/api/key/h'],
      ['GET', '/api/key/h'],
      ['GET', '/thumb/none/none'],
      ['GET', '/no/such/place'],
    ] as const;
    for (const [method, path] of paths) {
      const own = await api.raw(path, { method });
      expect([path, own.headers.get('x-trace-id')]).toEqual([path, expect.stringMatching(/^[0-9a-f]{32}$/)]);
      const traceparent = `00-${traceId}-${callersSpan}-01`;
      const headers = { traceparent, 'x-trace-id': 'f'.repeat(32) };
      const continued = await api.raw(path, { method, headers });
      expect([path, continued.headers.get('x-trace-id')]).toEqual([path, traceId]);
    }
  } finally {
    await api.close();
  }
});
