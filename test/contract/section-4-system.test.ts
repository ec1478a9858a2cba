import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiUnderTest, startApi } from './api-under-test.ts';
import { metricFamilies } from './metric-families.ts';

// Section 4, "### System". What each metric family counts: section-4-metrics.test.ts. "`svc_` stands for the service's own
// metric prefix." The worker's listener:
// "| `GET :WORKER_METRICS_PORT/healthz` | worker only | none | liveness of the worker process |
// | `GET :WORKER_METRICS_PORT/metrics` | worker only | none | metrics of the worker process |"
// "The worker listener runs only in `--mode=worker`, on `WORKER_METRICS_PORT` (default 3001); `0` disables it. Worker-only
// mode has no `/readyz`.": section-1-service.test.ts, '`server`: "HTTP server and delivery endpoints only"; `--mode=worker`
// overrides `MODE`: "queue worker only"'; test/integration/modes.test.ts, 'a worker listens nowhere with WORKER_METRICS_PORT=0'.

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
  // "| `GET /healthz` | server, all | none | 200 with plain body `OK` while the process is alive; does not imply dependencies
  // are reachable |" (The latter: it answers in each test of `/readyz` below, while something fails.)
  it('"200 with plain body `OK` while the process is alive"', async () => {
    const answer = await api.raw('/healthz');
    expect([answer.status, answer.text]).toEqual([200, 'OK']);
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain/);
  });
});

describe('`GET /readyz`', () => {
  // "| `GET /readyz` | server, all | none | checks, within a 2-second timeout, the relational database, the key-value store,
  // the source bucket and the media bucket; 200 with body `OK` when all pass; otherwise 503 with a plain-text body of the
  // form `not ready: <check>: <detail>`; each failure increments `svc_readiness_failures_total{check=...}` |"
  // Section 4, metric families: "| `svc_readiness_failures_total` | readiness failures by dependency check |"
  // Section 7: "| 503 | `/readyz` dependency check failed (plain-text body) |"
  // Section 8: "| Readiness timeout | `/readyz` | 2 seconds |"
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
  // "| `GET /metrics` | server, all | none | metrics in a text exposition format for the main HTTP process |"
  it('has all ten families of the specification', async () => {
    const { text, headers } = await api.raw('/metrics');
    expect(headers.get('content-type')).toMatch(/^text\/plain/);
    for (const family of metricFamilies) expect(text).toContain(`# TYPE ${family} `);
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
