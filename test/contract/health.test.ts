import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { workerListenerComponent } from '../../controller/execution/worker-listener.ts';
import { freePort } from '../../testing/free-port.ts';
import { type ApiUnderTest, startApi } from './api-under-test.ts';
import { metricFamilies } from './metric-families.ts';

// docs/reference/contract.md, "Health", and what the surfaces of a server have. The listener of a worker
// (C25.6): service.test.ts and test/integration/modes.test.ts.

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

/** Requests with which every address, method, token and check differs. */
const request = async (n: number) => {
  const key = Buffer.from(`images/ab/${n}.png`).toString('base64url');
  const authorization = `Bearer made-up.${n}`;
  const paths = [`/stream/h${n}/x.m4s`, `/thumb/sig${n}/${key}`, `/api/jobs/j${n}`, `/nowhere/${n}`, `/readyz/c${n}`];
  for (const path of paths) await api.raw(path);
  await api.raw(`/api/key/k${n}`, { headers: { authorization, 'x-forwarded-for': `10.0.0.${n}` } });
  await api.raw(`/stream/h${n}/x.m4s`, { method: ['PURGE', 'LOCK', 'MKCOL', 'SEARCH'][n % 4] ?? '' });
};

/** The series of the service's own metrics, without their values. */
const seriesOf = async () => new Set((await api.raw('/metrics')).text.match(/^svc_\S+(?= )/gm));

describe('`GET /healthz`', () => {
  it('C25.1: /healthz answers at once with OK while nothing that the process depends on answers', async () => {
    const other = await startApi();
    try {
      for (const part of ['database', 'windowCounter', 'source', 'media'] as const) other.d[part].ping = hanging;
      const began = performance.now();
      const answer = await other.raw('/healthz');
      expect([answer.status, answer.text]).toEqual([200, 'OK']);
      expect(performance.now() - began).toBeLessThan(1000);
    } finally {
      await other.close();
    }
  });
});

describe('`GET /readyz`', () => {
  it('C25.2: /readyz answers 200 with OK when all dependencies answer', async () => {
    const answer = await api.raw('/readyz');
    expect([answer.status, answer.text]).toEqual([200, 'OK']);
  });

  it('C25.3, C25.4: /readyz answers 503 when a dependency fails or hangs, names its check and counts it', async () => {
    const other = await startApi();
    try {
      for (const [part, check, ping, detail] of [
        ['database', 'database', failing, 'ECONNREFUSED'],
        ['windowCounter', 'key_value_store', failing, 'ECONNREFUSED'],
        ['source', 'source_bucket', failing, 'ECONNREFUSED'],
        ['media', 'media_bucket', hanging, 'no answer within 2 s'],
      ] as const) {
        // The server holds the part itself, so its method is replaced, not the part.
        const own = other.d[part].ping.bind(other.d[part]);
        other.d[part].ping = ping;
        const began = performance.now();
        const answer = await other.raw('/readyz');
        expect([answer.status, answer.text]).toEqual([503, `not ready: ${check}: ${detail}`]);
        expect(answer.headers.get('content-type')).toMatch(/^text\/plain/);
        expect(performance.now() - began).toBeLessThan(2500);
        expect(await metric(other, `svc_readiness_failures_total{check="${check}"}`)).toBe(1);
        expect((await other.raw('/healthz')).status).toBe(200);
        other.d[part].ping = own;
      }
    } finally {
      await other.close();
    }
  });
});

describe('`GET /readyz/{check}`', () => {
  it('C25.18: a probe of the database passes while a bucket and Redis are away, which are counted all the same', async () => {
    const other = await startApi();
    try {
      for (const part of ['windowCounter', 'source', 'media'] as const) other.d[part].ping = failing;
      const answer = await other.raw('/readyz/database');
      expect([answer.status, answer.text]).toEqual([200, 'OK']);
      expect(await metric(other, 'svc_readiness_failures_total{check="media_bucket"}')).toBe(1);
      const bucket = await other.raw('/readyz/media_bucket');
      expect([bucket.status, bucket.text]).toEqual([503, 'not ready: media_bucket: ECONNREFUSED']);
      expect((await other.raw('/readyz/toString')).status).toBe(404);
    } finally {
      await other.close();
    }
  });

  it('C25.18: the listener of a worker answers by its database where it has one to check, as on Kubernetes', async () => {
    let isAway = false;
    const checkDatabase = () => (isAway ? failing() : Promise.resolve());
    const onKubernetes = await startListener({ checkDatabase });
    expect(await onKubernetes()).toEqual([200, 'OK']);
    isAway = true;
    expect(await onKubernetes()).toEqual([503, 'not ready: database']);
    expect(await (await startListener({}))()).toEqual([404, 'not found']);
  });
});

/** Starts the listener of a worker. @returns what asks it for `/readyz/database` */
async function startListener(options: { checkDatabase?: () => Promise<void> }) {
  const [host, port] = ['127.0.0.1', await freePort()];
  const listener = workerListenerComponent({ host, port, metrics: api.d.metrics, ...options });
  await listener.start();
  onTestFinished(() => listener.stop(AbortSignal.timeout(10_000)));
  return async () => {
    const answer = await fetch(`http://${host}:${port}/readyz/database`);
    return [answer.status, await answer.text()];
  };
}

describe('`GET /metrics`', () => {
  it('C25.5: /metrics has every family of the contract, in the text format', async () => {
    const { text, headers } = await api.raw('/metrics');
    expect(headers.get('content-type')).toMatch(/^text\/plain/);
    for (const family of metricFamilies) expect(text).toContain(`# TYPE ${family} `);
  });

  it('C25.7, C25.14: requests are counted by route and never by path', async () => {
    await api.call('/api/jobs/some-id');
    await api.raw('/stream/some-hash/x.mp4');
    await api.raw('/no/such/place');
    const count = (method: string, route: string, status: number) =>
      metric(api, `svc_http_requests_total{method="${method}",route="${route}",status="${status}"}`);
    expect(await count('GET', '/api/jobs/{id}', 404)).toBe(1);
    expect(await count('GET', '/stream/{hash}/*', 404)).toBe(1);
    expect(await count('GET', 'unmatched', 404)).toBe(1);
    expect((await api.raw('/metrics')).text).not.toContain('some-hash');
  });

  it('C25.14: requests of other addresses, methods, tokens and checks add no series', async () => {
    for (let n = 0; n < 4; n++) await request(n);
    const before = await seriesOf();
    for (let n = 4; n < 40; n++) await request(n);
    expect(await seriesOf()).toEqual(before);
  });
});

describe('surfaces', () => {
  it('C10.12: a server of the surface delivery has no job route', async () => {
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

  it('C10.12: a server of the surface api delivers nothing', async () => {
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
  ])('C10.12: %s is served as %s', async (path, contentType) => {
    const answer = await api.raw(path);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, contentType]);
    const again = await api.raw(path, { headers: { 'if-none-match': answer.headers.get('etag') ?? '' } });
    expect(again.status).toBe(304);
  });

  it.each(['/player/../package.json', '/player/%2e%2e/package.json', '/player/nothing.js'])(
    'the path %s leads to no file of the server',
    async (path) => {
      expect((await api.raw(path)).status).toBe(404);
    },
  );
});
