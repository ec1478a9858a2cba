import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// Section 4, "System" and "Metric families".

let api: ApiUnderTest;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

const failing = () => Promise.reject(Object.assign(new Error('secret-host refused'), { code: 'ECONNREFUSED' }));
const hanging = () => new Promise<never>(() => {});

async function metric(of: ApiUnderTest, line: string): Promise<number> {
  const found = (await of.raw('/metrics')).text.split('\n').find((text) => text.startsWith(`${line} `));
  return found === undefined ? 0 : Number(found.slice(line.length));
}

describe('`GET /healthz`', () => {
  it('"200 with plain body `OK` while the process is alive"', async () => {
    const answer = await api.raw('/healthz');
    expect([answer.status, answer.text]).toEqual([200, 'OK']);
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain/);
  });
});

describe('`GET /readyz`', () => {
  it('"200 with body `OK` when all pass"', async () => {
    const answer = await api.raw('/readyz');
    expect([answer.status, answer.text]).toEqual([200, 'OK']);
  });

  it.each([
    ['database', 'database'],
    ['keyValues', 'key_value_store'],
    ['source', 'source_bucket'],
    ['media', 'media_bucket'],
  ] as const)('checks %s: "503 with … `not ready: <check>: <detail>`", and counts it', async (part, check) => {
    for (const [ping, detail] of [
      [failing, 'ECONNREFUSED'],
      [hanging, 'no answer within 2 s'],
    ] as const) {
      const other = await startApi();
      try {
        // The server holds the part itself, so its method is replaced, not the part.
        other.d[part].ping = ping;
        const began = performance.now();
        const answer = await other.raw('/readyz');
        expect([answer.status, answer.text]).toEqual([503, `not ready: ${check}: ${detail}`]);
        expect(answer.headers.get('content-type')).toMatch(/^text\/plain/);
        expect(performance.now() - began).toBeLessThan(2500);
        expect(await metric(other, `svc_readiness_failures_total{check="${check}"}`)).toBe(1);
        expect((await other.raw('/healthz')).status).toBe(200);
      } finally {
        await other.close();
      }
    }
  });
});

describe('`GET /metrics`', () => {
  it('has all ten families of the specification', async () => {
    const { text, headers } = await api.raw('/metrics');
    expect(headers.get('content-type')).toMatch(/^text\/plain/);
    const families = [
      'svc_http_requests_total',
      'svc_http_request_duration_seconds',
      'svc_image_cache_events_total',
      'svc_image_results_total',
      'svc_image_errors_total',
      'svc_worker_tasks_total',
      'svc_worker_task_duration_seconds',
      'svc_readiness_failures_total',
      'svc_queue_tasks',
      'svc_queue_metrics_sync_failures_total',
    ];
    for (const family of families) expect(text).toContain(`# TYPE ${family} `);
  });

  it('counts requests "by method, route, status", with routes and never paths', async () => {
    await api.call('/api/jobs/some-id');
    await api.raw('/stream/somebody/x.mp4');
    await api.raw('/no/such/place');
    const count = (method: string, route: string, status: number) =>
      metric(api, `svc_http_requests_total{method="${method}",route="${route}",status="${status}"}`);
    expect(await count('GET', '/api/jobs/{id}', 404)).toBe(1);
    expect(await count('GET', '/stream/{hash}/*', 404)).toBe(1);
    expect(await count('GET', 'unmatched', 404)).toBe(1);
    expect((await api.raw('/metrics')).text).not.toContain('somebody');
  });
});

describe('surfaces', () => {
  it('a server of `delivery` alone has no job route', async () => {
    const delivery = await startApi({ surfaces: new Set(['delivery']) });
    try {
      expect((await delivery.submit({})).status).toBe(404);
      expect((await delivery.call('/api/jobs/x')).status).toBe(404);
      expect((await delivery.raw('/stream/h/master.m3u8')).json.code).toBe('not_found');
      expect((await delivery.raw('/api/key/h')).status).toBe(401);
      expect((await delivery.raw('/player/')).status).toBe(200);
    } finally {
      await delivery.close();
    }
  });

  it('a server of `api` alone delivers nothing', async () => {
    const only = await startApi({ surfaces: new Set(['api']) });
    try {
      expect((await only.raw('/api/key/h')).status).toBe(404);
      expect((await only.raw('/player/')).status).toBe(404);
      expect((await only.submit({})).status).toBe(400);
      expect((await only.raw('/healthz')).status).toBe(200);
    } finally {
      await only.close();
    }
  });
});

describe('the player page', () => {
  it.each([
    ['/player/', 'text/html; charset=utf-8'],
    ['/player/vendor/shaka-player.js', 'text/javascript; charset=utf-8'],
    ['/player/vendor/hls.js', 'text/javascript; charset=utf-8'],
  ])('%s is served from this server', async (path, contentType) => {
    const answer = await api.raw(path);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, contentType]);
    const again = await api.raw(path, { headers: { 'if-none-match': answer.headers.get('etag') ?? '' } });
    expect(again.status).toBe(304);
  });

  it.each(['/player/../package.json', '/player/%2e%2e/package.json', '/player/nothing.js'])(
    '%s is not',
    async (path) => {
      expect((await api.raw(path)).status).toBe(404);
    },
  );
});
