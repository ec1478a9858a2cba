import { afterEach, describe, expect, it } from 'vitest';
import { signPlaybackToken } from '#domain/playback/token.ts';
import { type ApiUnderTest, keyTokenSecret, olderApiKey, startApi } from './api-under-test.ts';

// docs/reference/contract.md, "Limits". The defaults: limit-defaults.test.ts. That a window ends when it began plus
// its length: test/integration/window-counter.test.ts.

let api: ApiUnderTest;
afterEach(() => api.close());
const thumbnail = (n: number) => ({ type: 'image:thumbnail', hash: `l${n}`, source: 'a.jpg' });

const token = (hash: string) => signPlaybackToken({ hash, exp: Math.floor(Date.now() / 1000) + 60 }, keyTokenSecret);
const ask = (bearer: string, headers: Record<string, string> = {}) =>
  api.raw('/api/key/h', { headers: { authorization: `Bearer ${bearer}`, ...headers } });

describe('the limit on submissions', () => {
  it('C23.1, C23.4, C23.5, C23.6: submissions and retries are counted for each key, and 429 is answered over the limit', async () => {
    api = await startApi({ apiRateLimitPerMinute: 5 });
    const left = [];
    for (let n = 0; n < 3; n++) {
      const answer = await api.submit(thumbnail(n));
      expect(answer.status).toBe(202);
      expect(answer.headers.get('ratelimit-policy')).toBe('"api";q=5;w=60');
      left.push(/^"api";r=(\d+);t=(\d+)$/.exec(answer.headers.get('ratelimit') ?? '')?.[1]);
    }
    // Requests that fail validation count, and so do retries.
    const invalid = await api.submit({});
    left.push(/r=(\d+)/.exec(invalid.headers.get('ratelimit') ?? '')?.[1]);
    const retry = await api.call('/api/jobs/none/retry', { method: 'POST' });
    left.push(/r=(\d+)/.exec(retry.headers.get('ratelimit') ?? '')?.[1]);
    expect(left).toEqual(['4', '3', '2', '1', '0']);

    const over = await api.submit(thumbnail(9));
    expect([over.status, over.json.code]).toEqual([429, 'rate_limited']);
    const seconds = Number(over.headers.get('retry-after'));
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(60);
    expect(over.headers.get('ratelimit')).toBe(`"api";r=0;t=${seconds}`);
    expect((await api.call('/api/jobs/none/retry', { method: 'POST' })).status).toBe(429);
    // Another key has a window of its own.
    expect((await api.submit(thumbnail(9), { 'x-api-key': olderApiKey })).status).toBe(202);
  });

  it('C23.1: uploads, imports and rollouts leave the window of submissions whole', async () => {
    api = await startApi({ apiRateLimitPerMinute: 1 });
    for (const [path, name] of [
      ['/api/uploads', 'uploads'],
      ['/api/imports', 'imports'],
      ['/api/rollouts', 'rollouts'],
    ] as const) {
      const statuses = [];
      for (let n = 0; n < 2; n++) {
        const answer = await api.call(path, { method: 'POST', body: '{}' });
        statuses.push(answer.status);
        expect(answer.headers.get('ratelimit-policy')).toBe(`"${name}";q=1;w=60`);
      }
      expect(statuses[0]).not.toBe(429);
      expect(statuses[1]).toBe(429);
    }
    expect((await api.submit(thumbnail(1))).status).toBe(202);
  });

  it('C23.15: the bucket sends at most forty notifications for each submission that a key has', async () => {
    api = await startApi({ apiRateLimitPerMinute: 1, eventsTokens: ['token of the bucket'] });
    const send = () =>
      api.call('/api/events/s3', {
        method: 'POST',
        body: '{}',
        headers: { authorization: 'Bearer token of the bucket', 'x-api-key': '' },
      });
    const answers = await Promise.all(Array.from({ length: 41 }, send));
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(1);
    expect((await api.submit(thumbnail(1))).status).toBe(202);
  });

  it('C23.10: reading a job is not limited, also over the limit on submissions', async () => {
    api = await startApi({ apiRateLimitPerMinute: 1 });
    const { json } = await api.submit(thumbnail(1));
    expect((await api.submit(thumbnail(2))).status).toBe(429);
    const reads = await Promise.all(Array.from({ length: 20 }, () => api.call(`/api/jobs/${json.job_id}`)));
    expect(reads.map(({ status }) => status)).toEqual(reads.map(() => 200));
  });

  it("C23.5, C23.6: failed authentication spends nothing of a valid key's limit", async () => {
    api = await startApi({ apiRateLimitPerMinute: 2 });
    for (let n = 0; n < 5; n++) {
      const refused = await api.submit(thumbnail(n), { 'x-api-key': 'wrong' });
      expect(refused.status).toBe(401);
      expect(refused.headers.get('ratelimit-policy')).toBe('"api";q=2;w=60');
    }
    expect((await api.submit(thumbnail(1))).headers.get('ratelimit')).toMatch(/^"api";r=1;/);
  });

  it('C23.3: servers on one key-value store share the windows', async () => {
    api = await startApi({ apiRateLimitPerMinute: 3, keyRateLimitPerMinute: 3 });
    const { windowCounter } = api.d;
    // The store is the first server's, which closes it.
    const shared: typeof windowCounter = {
      hit: (...args) => windowCounter.hit(...args),
      ping: () => windowCounter.ping(),
      close: () => Promise.resolve(),
    };
    const other = await startApi({ apiRateLimitPerMinute: 3, keyRateLimitPerMinute: 3 }, { windowCounter: shared });
    try {
      const servers = [api, other, api, other];
      const submitted = [];
      for (const [n, server] of servers.entries()) submitted.push((await server.submit(thumbnail(n))).status);
      const asked = [];
      for (const server of servers) asked.push((await server.raw('/api/key/h')).status);
      expect([submitted, asked]).toEqual([
        [202, 202, 202, 429],
        [401, 401, 401, 429],
      ]);
    } finally {
      await other.close();
    }
  });

  // With a Redis that is cut off: test/integration/api-outages.test.ts.
  it('C23.7: a server counts by itself while the key-value store fails, and counts that', async () => {
    api = await startApi({ apiRateLimitPerMinute: 2, keyRateLimitPerMinute: 2 });
    api.d.windowCounter.hit = () => Promise.reject(new Error('the store is away'));
    const statuses = [];
    for (let n = 0; n < 3; n++) statuses.push((await api.submit(thumbnail(n))).status);
    for (let n = 0; n < 3; n++) statuses.push((await api.raw('/api/key/h')).status);
    expect(statuses).toEqual([202, 202, 429, 401, 401, 429]);
    const { text } = await api.raw('/metrics');
    expect(text).toContain('svc_rate_limit_fallbacks_total{limit="api"} 3');
    expect(text).toContain('svc_rate_limit_fallbacks_total{limit="key"} 3');
  });
});

describe('the limit on keys', () => {
  it('C23.8: each signed token has a window, and all made-up ones share a window of the address', async () => {
    api = await startApi({ keyRateLimitPerMinute: 3 });
    await api.d.contentKeys.findOrCreate('h');
    const mine = token('h');
    const statuses = [];
    for (let n = 0; n < 4; n++) statuses.push((await ask(mine)).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
    const madeUp = [];
    for (let n = 0; n < 4; n++) madeUp.push((await ask(`made-up.${n}`)).status);
    expect(madeUp).toEqual([403, 403, 403, 429]);
    // Without a token the address counts too; another token is not touched by that.
    expect((await api.raw('/api/key/h')).status).toBe(429);
    const other = await ask(token('other'));
    expect(other.status).toBe(403);
    expect(other.headers.get('ratelimit')).toMatch(/^"key";r=2;t=\d+$/);
  });

  it('C23.4, C18.9: a page can read the 429 of the key endpoint, and no cache keeps it', async () => {
    api = await startApi({ keyRateLimitPerMinute: 1 });
    await ask('x.y');
    const answer = await ask('x.y');
    expect([answer.status, answer.json.code]).toEqual([429, 'rate_limited']);
    const resetSec = answer.headers.get('retry-after') ?? '';
    expect(Number(resetSec)).toBeGreaterThan(0);
    expect(answer.headers.get('ratelimit')).toBe(`"key";r=0;t=${resetSec}`);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.headers.get('access-control-expose-headers')).toContain('Retry-After');
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  it('C23.9: X-Forwarded-For is believed only from a trusted proxy', async () => {
    api = await startApi({ keyRateLimitPerMinute: 1 });
    expect((await ask('x.y', { 'x-forwarded-for': '192.0.2.1' })).status).toBe(403);
    expect((await ask('x.y', { 'x-forwarded-for': '192.0.2.2' })).status).toBe(429);
    await api.close();
    api = await startApi({ keyRateLimitPerMinute: 1, trustedProxies: ['127.0.0.0/8'] });
    expect((await ask('x.y', { 'x-forwarded-for': '192.0.2.1' })).status).toBe(403);
    expect((await ask('x.y', { 'x-forwarded-for': '192.0.2.2' })).status).toBe(403);
    expect((await ask('x.y', { 'x-forwarded-for': '192.0.2.2' })).status).toBe(429);
    // What the client itself put in front is not believed: the address nearest to the proxy is the client's.
    expect((await ask('x.y', { 'x-forwarded-for': '203.0.113.9, 192.0.2.2' })).status).toBe(429);
  });
});
