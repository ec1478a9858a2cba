import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signPlaybackToken } from '#domain/playback/token.ts';
import { apiKey, type ApiUnderTest, keyTokenSecret, olderApiKey, startApi } from './api-under-test.ts';

// Section 5, "Authentication".

let api: ApiUnderTest;
const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;

const ask = (authorization: string | null, path = '/api/key/video-1') =>
  api.raw(path, { headers: authorization === null ? {} : { authorization } });

beforeAll(async () => {
  api = await startApi();
  await api.d.contentKeys.findOrCreate('video-1');
});
afterAll(() => api.close());

describe('header `X-API-Key: <API_KEY>`; internal use only', () => {
  const routes = [
    ['POST', '/api/jobs'],
    ['GET', '/api/jobs/00000000-0000-4000-8000-000000000000'],
    ['POST', '/api/jobs/00000000-0000-4000-8000-000000000000/retry'],
  ] as const;

  it.each(routes)('%s %s answers 401 without a key and with a wrong one, with the same body', async (method, path) => {
    const withKey = (key: string | null) =>
      api.raw(path, { method, headers: key === null ? {} : { 'x-api-key': key } });
    const answers = [];
    for (const key of [null, '', 'wrong', `${apiKey}x`, apiKey.slice(0, -1)]) answers.push(await withKey(key));
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401]);
    const bodies = answers.map(({ json }) => JSON.stringify({ ...json, trace_id: '' }));
    expect(new Set(bodies).size).toBe(1);
  });

  it('every key of the list is taken, so that keys can be rotated', async () => {
    for (const key of [apiKey, olderApiKey]) {
      const answer = await api.call('/api/jobs/none', { headers: { 'x-api-key': key } });
      expect(answer.status).toBe(404);
    }
    const joined = await api.call('/api/jobs/none', { headers: { 'x-api-key': `${apiKey},${olderApiKey}` } });
    expect(joined.status).toBe(401);
  });

  it('a Bearer token is no API key', async () => {
    const authorization = `Bearer ${signPlaybackToken({ hash: 'video-1', exp: inAnHour() }, keyTokenSecret)}`;
    expect((await api.raw('/api/jobs/none', { headers: { authorization } })).status).toBe(401);
  });
});

describe('`GET /api/key/{hash}`: header `Authorization: Bearer <ACCESS_TOKEN>`', () => {
  it('"`X-API-Key` is not accepted"', async () => {
    expect((await api.raw('/api/key/video-1', { headers: { 'x-api-key': apiKey } })).status).toBe(401);
  });

  it('takes a token that is made as section 5 says, by hand', async () => {
    const payload = Buffer.from(JSON.stringify({ hash: 'video-1', exp: inAnHour() })).toString('base64url');
    const signature = createHmac('sha256', keyTokenSecret).update(payload).digest('base64url');
    const answer = await ask(`Bearer ${payload}.${signature}`);
    expect(answer.status).toBe(200);
    expect(answer.bytes).toHaveLength(16);
    expect((await ask(`bearer ${payload}.${signature}`)).status).toBe(200);
  });

  it('"The `Authorization: Bearer` header must be present": 401, and says which scheme', async () => {
    for (const header of [null, '', 'Bearer', 'Bearer ', 'Basic dTpw']) {
      const answer = await ask(header);
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    }
  });

  it('refuses a bad signature, a past `exp` and another `hash` with 403 and one and the same body', async () => {
    const good = signPlaybackToken({ hash: 'video-1', exp: inAnHour() }, keyTokenSecret);
    const tokens = [
      signPlaybackToken({ hash: 'video-1', exp: inAnHour() }, 'another secret of somebody else'),
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

  it('a token for a media without a key gets 404, and only a valid one learns that', async () => {
    const token = signPlaybackToken({ hash: 'clear-1', exp: inAnHour() }, keyTokenSecret);
    expect((await ask(`Bearer ${token}`, '/api/key/clear-1')).status).toBe(404);
    expect((await ask('Bearer x.y', '/api/key/clear-1')).status).toBe(403);
    const odd = signPlaybackToken({ hash: '\u0000', exp: inAnHour() }, keyTokenSecret);
    expect((await ask(`Bearer ${odd}`, '/api/key/%00')).status).toBe(404);
  });
});

describe('`GET /stream/{hash}/*`, `/healthz`, `/readyz`, `/metrics`: none', () => {
  it.each([
    ['/stream/none/master.m3u8', 404],
    ['/healthz', 200],
    ['/readyz', 200],
    ['/metrics', 200],
  ])('%s answers without any credential', async (path, status) => {
    expect((await api.raw(path)).status).toBe(status);
  });
});
