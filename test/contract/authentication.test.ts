import { createHmac } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { thumbSecretsOf } from '#domain/playback/thumb.ts';
import { signPlaybackToken } from '#domain/playback/token.ts';
import { apiKey, type ApiUnderTest, keyTokenSecret, olderApiKey, startApi } from './api-under-test.ts';

// docs/reference/contract.md, "Authentication". Every way to forge a token: domain/playback/token.test.ts. That the token stands in no address (C19.11): service.test.ts
// and test/integration/player.test.ts. Signatures of webhooks (C21.5, C21.6): webhooks.test.ts.

let api: ApiUnderTest;
const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;

const ask = (authorization: string | null, path = '/api/key/video-1') =>
  api.raw(path, { headers: authorization === null ? {} : { authorization } });

beforeAll(async () => {
  api = await startApi();
  await api.d.contentKeys.findOrCreate('video-1');
});
afterAll(() => api.close());

describe('the API key', () => {
  const routes = [
    ['POST', '/api/jobs'],
    ['GET', '/api/jobs/00000000-0000-4000-8000-000000000000'],
    ['POST', '/api/jobs/00000000-0000-4000-8000-000000000000/retry'],
  ] as const;

  it.each(routes)(
    'C19.1, C19.2: %s %s answers 401 without a key and with a wrong one, with the same body',
    async (method, path) => {
      const withKey = (key: string | null) =>
        api.raw(path, { method, headers: key === null ? {} : { 'x-api-key': key } });
      const answers = [];
      for (const key of [null, '', 'wrong', `${apiKey}x`, apiKey.slice(0, -1)]) answers.push(await withKey(key));
      expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401]);
      const bodies = answers.map(({ json }) => JSON.stringify({ ...json, trace_id: '' }));
      expect(new Set(bodies).size).toBe(1);
    },
  );

  it('C19.1: every route below /api answers 401 without a key and with a wrong one, but those with credentials of their own', async () => {
    const { json: document } = await api.raw('/openapi.json');
    const documented = Object.entries<object>(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const others = ['PUT /api/uploads/{id}/parts/{number}'];
    const guarded = documented.filter((route) => / \/api\/(?!key\/)/.test(route) && !others.includes(route));
    const statusOf = async (route: string, headers: Record<string, string>) => {
      const [method = '', path = ''] = route.split(' ');
      const url = path.replace('{id}', '00000000-0000-4000-8000-000000000000').replaceAll(/\{\w+\}/g, 'none');
      return [route, (await api.raw(url, { method, headers })).status];
    };
    const answers = await Promise.all(
      guarded.flatMap((route) => [statusOf(route, {}), statusOf(route, { 'x-api-key': 'wrong' })]),
    );
    expect(guarded.length).toBeGreaterThan(30);
    expect(answers.filter(([, status]) => status !== 401)).toEqual([]);
  });

  it('C24.1: every key of API_KEY is accepted', async () => {
    for (const key of [apiKey, olderApiKey]) {
      const answer = await api.call('/api/jobs/none', { headers: { 'x-api-key': key } });
      expect(answer.status).toBe(404);
    }
    const joined = await api.call('/api/jobs/none', { headers: { 'x-api-key': `${apiKey},${olderApiKey}` } });
    expect(joined.status).toBe(401);
  });

  it('C19.3: a playback token is not accepted as an API key', async () => {
    const authorization = `Bearer ${signPlaybackToken({ hash: 'video-1', exp: inAnHour() }, keyTokenSecret)}`;
    expect((await api.raw('/api/jobs/none', { headers: { authorization } })).status).toBe(401);
  });
});

describe('the playback token', () => {
  it('C19.3: an API key is not accepted by the key endpoint', async () => {
    expect((await api.raw('/api/key/video-1', { headers: { 'x-api-key': apiKey } })).status).toBe(401);
    expect((await ask(`Bearer ${apiKey}`)).status).toBe(403);
  });

  it('C19.5: a token made by hand by the documented rules is accepted, and other encodings are not', async () => {
    const payload = Buffer.from(JSON.stringify({ hash: 'video-1', exp: inAnHour() })).toString('base64url');
    const signature = createHmac('sha256', keyTokenSecret).update(payload).digest('base64url');
    const answer = await ask(`Bearer ${payload}.${signature}`);
    expect(answer.status).toBe(200);
    expect(answer.bytes).toHaveLength(16);
    expect((await ask(`bearer ${payload}.${signature}`)).status).toBe(200);
    const json = Buffer.from(payload, 'base64url');
    const overJson = createHmac('sha256', keyTokenSecret).update(json).digest('base64url');
    for (const odd of [`${payload}.${overJson}`, `${payload}=.${signature}`, `${payload}.${signature}=`])
      expect((await ask(`Bearer ${odd}`)).status).toBe(403);
  });

  it.each([
    { hash: 'video-1' },
    { exp: 4e9 },
    { hash: 1, exp: 4e9 },
    { hash: 'video-1', exp: '4e9' },
    { hash: 'video-1', exp: 4e9 + 0.5 },
    'video-1',
  ])('C19.6: the signed payload %j is refused', async (value) => {
    const payload = Buffer.from(JSON.stringify(value)).toString('base64url');
    const signature = createHmac('sha256', keyTokenSecret).update(payload).digest('base64url');
    expect((await ask(`Bearer ${payload}.${signature}`)).status).toBe(403);
  });

  it('C19.9: a token holds for as long as its issuer chose and not longer', async () => {
    const nowSec = Math.floor(Date.now() / 1000);
    const [brief, long] = [nowSec + 2, nowSec + 36_500 * 86_400].map(
      (exp) => `Bearer ${signPlaybackToken({ hash: 'video-1', exp }, keyTokenSecret)}`,
    ) as [string, string];
    expect((await ask(long)).status).toBe(200);
    await expect.poll(async () => (await ask(brief)).status, { timeout: 10_000, interval: 200 }).toBe(403);
    expect(Date.now() / 1000).toBeGreaterThanOrEqual(nowSec + 3);
    expect((await ask(long)).status).toBe(200);
  });

  it('C22.14: a request without a Bearer token answers 401 and names the scheme', async () => {
    for (const header of [null, '', 'Bearer', 'Bearer ', 'Basic dTpw']) {
      const answer = await ask(header);
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    }
    // Nor does a good one in the address open anything.
    const token = signPlaybackToken({ hash: 'video-1', exp: inAnHour() }, keyTokenSecret);
    expect((await api.raw(`/api/key/video-1?token=${token}`)).status).toBe(401);
  });

  it('C19.7, C19.10, C22.15, C18.9: a bad signature, a past exp and another hash answer 403 with one and the same body', async () => {
    const good = signPlaybackToken({ hash: 'video-1', exp: inAnHour() }, keyTokenSecret);
    const tokens = [
      signPlaybackToken({ hash: 'video-1', exp: inAnHour() }, 'another secret of another service'),
      signPlaybackToken({ hash: 'video-1', exp: Math.floor(Date.now() / 1000) - 1 }, keyTokenSecret),
      signPlaybackToken({ hash: 'video-2', exp: inAnHour() }, keyTokenSecret),
      `${good}x`,
      good.slice(0, -2),
      'x',
      'a.b.c',
      `${good}.${good}`,
    ];
    const answers = [];
    for (const token of tokens) answers.push(await ask(`Bearer ${token}`));
    expect(answers.map(({ status }) => status)).toEqual(tokens.map(() => 403));
    expect(new Set(answers.map(({ json }) => JSON.stringify({ ...json, trace_id: '' }))).size).toBe(1);
    expect(answers[0]?.headers.get('cache-control')).toBe('no-store');
  });

  it('C22.16: a valid token of a media without a key answers 404, an invalid one 403', async () => {
    const token = signPlaybackToken({ hash: 'clear-1', exp: inAnHour() }, keyTokenSecret);
    expect((await ask(`Bearer ${token}`, '/api/key/clear-1')).status).toBe(404);
    expect((await ask('Bearer x.y', '/api/key/clear-1')).status).toBe(403);
    const odd = signPlaybackToken({ hash: '\u0000', exp: inAnHour() }, keyTokenSecret);
    expect((await ask(`Bearer ${odd}`, '/api/key/%00')).status).toBe(404);
  });
});

describe('public routes', () => {
  it.each([
    ['/stream/none/master.m3u8', 404],
    ['/healthz', 200],
    ['/readyz', 200],
    ['/metrics', 200],
  ])('C19.4: %s answers without any credential', async (path, status) => {
    expect((await api.raw(path)).status).toBe(status);
  });
});

it('C19.12: no page, public answer or header holds a secret', async () => {
  const webDir = join(import.meta.dirname, '../../web');
  const open = await startApi({}, { webDir });
  try {
    const files = (await readdir(webDir, { recursive: true })).map((name) => `/player/${name}`);
    expect(files).toContain('/player/page.js');
    const paths = ['/', '/player/', '/docs', '/openapi.json', '/healthz', '/readyz', '/metrics', '/nowhere'];
    paths.push('/api/jobs', '/api/jobs/x', '/api/key/video-1', '/api/key/video-1/clearkey', '/stream/h/master.m3u8');
    paths.push('/stream/h/../x', '/thumb/x/y');
    const token = signPlaybackToken({ hash: 'video-1', exp: inAnHour() }, keyTokenSecret);
    const secrets = [apiKey, olderApiKey, keyTokenSecret, ...thumbSecretsOf([], keyTokenSecret)];
    const forms = secrets.flatMap((secret) => [
      secret,
      ...(['base64', 'base64url', 'hex'] as const).map((encoding) => Buffer.from(secret).toString(encoding)),
    ]);
    for (const path of [...paths, ...files]) {
      const { text, headers } = await open.raw(path, { headers: { authorization: `Bearer ${token}` } });
      const whole = text + JSON.stringify([...headers]);
      expect([path, forms.filter((form) => whole.includes(form))]).toEqual([path, []]);
    }
  } finally {
    await open.close();
  }
});
