import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rights } from '#domain/keys/rights.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { makeKey, type MadeKey } from '../../testing/named-keys.ts';
import { type ApiUnderTest, apiKey } from './api-under-test.ts';
import { operationsOf, startWholeApi } from './keys-rig.ts';

// docs/reference/contract.md, "Keys": browser sessions.

const lines: Record<string, unknown>[] = [];
const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
let api: ApiUnderTest;
let acme: MadeKey;
beforeAll(async () => {
  api = await startWholeApi({ log: createLogger({ level: 'info', name: 'test', destination }) });
  acme = await makeKey(api.d.database, { name: 'acme', rights: ['read', 'submit'], hashPrefix: 'acme-' });
});
afterAll(() => api.close());

const own = { 'x-reelwright-session': '1' };
type Headers = Record<string, string>;

const post = (headers: Headers, body?: object) =>
  api.raw('/api/sessions', {
    method: 'POST',
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) }),
  });

/** The cookie of a new session. */
async function begin(key: string, body?: object): Promise<string> {
  const { headers, status } = await post({ 'x-api-key': key }, body);
  expect(status).toBe(201);
  return (headers.get('set-cookie') ?? '').split(';')[0] ?? '';
}

const get = (path: string, headers: Headers) => api.raw(path, { headers });
const listed = async (cookie: string) => (await get('/api/jobs', { cookie, ...own })).status;

const isSecure = async (host: string) =>
  (await post({ 'x-api-key': acme.text, host })).headers.get('set-cookie')?.includes('; Secure');
const query = (text: string) => api.d.database.pool.query(text);

describe('a session', () => {
  it('C35.17: is begun with a key, for 15 minutes, and its secret is in an HttpOnly cookie alone', async () => {
    const { status, headers, json, text } = await post({ 'x-api-key': acme.text });
    expect([status, headers.get('cache-control')]).toEqual([201, 'no-store']);
    expect(json).toMatchObject({ key_id: acme.id, key_name: 'acme', rights: ['read', 'submit'], hash_prefix: 'acme-' });
    expect((Date.parse(json.expires_at) - Date.now()) / 60_000).toBeCloseTo(15, 0);
    expect((Date.parse(json.ends_at) - Date.now()) / 3_600_000).toBeCloseTo(24, 1);
    const cookie = headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/^reelwright_session=rws_[\w-]{43}; Max-Age=900; HttpOnly; SameSite=Strict$/);
    const secret = /rws_[\w-]+/.exec(cookie)?.[0] ?? 'none';
    const { rows } = await api.d.database.pool.query<{ row: string }>(
      'select key_sessions::text as row from key_sessions',
    );
    expect(rows.length).toBeGreaterThan(0);
    expect(JSON.stringify([text, rows, lines])).not.toContain(secret);
  });

  it('C35.17: has a cookie that is `Secure`, but by plain HTTP to the machine itself', async () => {
    for (const host of ['localhost:8080', 'a.localhost', '127.0.0.1:8080', '[::1]:8080'])
      expect([host, await isSecure(host)]).toEqual([host, false]);
    for (const host of ['media.example.com', '10.0.0.5:8080', 'localhost.example.com', '127.0.0.1.example.com'])
      expect([host, await isSecure(host)]).toEqual([host, true]);
  });

  it('C35.18: is renewed by its cookie, with the same secret, and never beyond a day', async () => {
    const cookie = await begin(acme.text);
    await query(
      `update key_sessions set expires_at = now() + interval '1 minute', ends_at = now() + interval '10 minutes'`,
    );
    const renewed = await post({ cookie, ...own });
    expect([renewed.status, renewed.json.key_name]).toEqual([200, 'acme']);
    expect(renewed.json.expires_at).toBe(renewed.json.ends_at);
    const [again = '', age = ''] = renewed.headers.get('set-cookie')?.split('; ') ?? [];
    expect([again, Number(age.split('=')[1])]).toEqual([cookie, expect.closeTo(600, -1)]);
    await query(`update key_sessions set expires_at = now()`);
    expect((await post({ cookie, ...own })).status).toBe(401);
  });

  it('C35.19: has the rights of its key or fewer, and sees what its key owns', async () => {
    const reading = await begin(acme.text, { rights: ['read'] });
    expect(await listed(reading)).toBe(200);
    const submit = await api.raw('/api/jobs', { method: 'POST', headers: { cookie: reading, ...own } });
    expect([submit.status, submit.json.detail]).toEqual([403, expect.stringContaining('lacks the right submit')]);
    expect((await get('/api/media/other-1', { cookie: reading, ...own })).status).toBe(404);
    for (const above of ['delete', 'admin']) {
      const refused = await post({ 'x-api-key': acme.text }, { rights: [above] });
      expect([refused.status, refused.json.detail]).toEqual([403, expect.stringContaining(`lacks the right ${above}`)]);
    }
    expect((await post({ 'x-api-key': acme.text }, { rights: [] })).status).toBe(400);
  });

  it('C35.19: of each right alone opens the operations of it but those of keys alone', async () => {
    const all = (await operationsOf(api)).filter(
      ({ path, method }) => !(path === '/api/sessions' && method === 'DELETE'),
    );
    const unknown = '00000000-0000-4000-8000-000000000000';
    const wrong: string[] = [];
    for (const given of rights) {
      const cookie = await begin(apiKey, { rights: [given] });
      for (const { method, path, rights: open, isForSessions } of all) {
        const url = path.replace('{id}', unknown).replaceAll(/\{\w+\}/g, 'none');
        const { status, text } = await api.raw(url, { method, headers: { cookie, ...own } });
        const isOpen = isForSessions && (open.includes(undefined) || open.includes(given) || given === 'admin');
        if (isOpen === (status === 401 || /lacks the right|A session may not/.test(text)))
          wrong.push(`${given}: ${method} ${path} (${open.join()}) ${status}`);
      }
    }
    expect(wrong).toEqual([]);
    const closed = all.filter(({ isForSessions }) => !isForSessions).map(({ method, path }) => `${method} ${path}`);
    expect(closed).toEqual(['POST /api/keys']);
  });

  it('C35.19: counts against the limits of its key, as its other sessions do', async () => {
    const { text } = await makeKey(api.d.database, { name: 'counted', rights: ['submit'] });
    const cookies = [await begin(text), await begin(text)];
    const submit = { type: 'image:thumbnail', hash: 'counted', source: 'a.jpg' };
    const leftOf = async (headers: Headers) => {
      const body = Buffer.from(JSON.stringify(submit));
      const answer = await api.raw('/api/jobs', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
      });
      return Number(/r=(\d+)/.exec(answer.headers.get('ratelimit') ?? '')?.[1]);
    };
    const left = await leftOf({ 'x-api-key': text });
    expect(left).toBe(9_999);
    for (const [index, cookie] of cookies.entries()) expect(await leftOf({ cookie, ...own })).toBe(left - 1 - index);
  });

  it('C35.19: begins no other session', async () => {
    const cookie = await begin(apiKey);
    const refused = await post({ cookie, ...own }, { rights: ['read'] });
    expect([refused.status, refused.json.detail]).toEqual([403, expect.stringContaining('begins no other one')]);
  });

  it('C35.20: ends by DELETE at once, and with its key; both are logged by the id of the session', async () => {
    const [first, second] = [await begin(acme.text), await begin(acme.text)];
    const ended = await api.raw('/api/sessions', { method: 'DELETE', headers: { cookie: first, ...own } });
    expect([ended.status, ended.headers.get('set-cookie')]).toEqual([
      204,
      'reelwright_session=; Max-Age=0; HttpOnly; SameSite=Strict',
    ]);
    expect([await listed(first), await listed(second)]).toEqual([401, 200]);
    const [begun, end] = ['session begun', 'session ended'].map((what) => lines.filter(({ msg }) => msg === what));
    expect(begun?.at(-2)).toMatchObject({ key_name: 'acme', session_id: end?.at(-1)?.['session_id'] });

    const { id, text } = await makeKey(api.d.database, { name: 'short', rights: ['read'] });
    const cookie = await begin(text);
    expect(await listed(cookie)).toBe(200);
    await api.call(`/api/keys/${id}`, { method: 'DELETE' });
    expect(await listed(cookie)).toBe(401);
    const { rows } = await api.d.database.pool.query('select from key_sessions where key_id = $1', [id]);
    expect(rows).toEqual([]);
  });

  it('C35.20: an event stream that it opened ends with it, and says nothing more', async () => {
    const cookie = await begin(acme.text);
    const { json } = await api.submit({ type: 'image:thumbnail', hash: 'acme-stream', source: 'a.jpg' });
    const response = await fetch(`${api.url}/api/jobs/${json.job_id}/events`, { headers: { cookie, ...own } });
    expect(response.status).toBe(200);
    await api.raw('/api/sessions', { method: 'DELETE', headers: { cookie, ...own } });
    await api.call(`/api/jobs/${json.job_id}/cancel`, { method: 'POST' });
    const events = await response.text();
    expect([events.includes('"status":"queued"'), events.includes('cancelled')]).toEqual([true, false]);
  });

  it('C35.20: DELETE with a key ends nothing and says so', async () => {
    expect((await api.call('/api/sessions', { method: 'DELETE' })).status).toBe(404);
  });
});

describe('requests of other pages', () => {
  const host = 'media.example.com';

  it('C35.21: a request with the cookie needs a header that no form can send, and counts for nothing otherwise', async () => {
    const cookie = await begin(apiKey);
    const statusOf = async (headers: Headers, method = 'POST') =>
      (await api.raw('/api/profiles/check', { method, headers: { cookie, ...headers } })).status;
    expect(await statusOf({})).toBe(403);
    expect(
      await statusOf({ 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' }),
    ).toBe(403);
    expect(await statusOf({ ...own, 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await statusOf({ ...own, 'sec-fetch-site': 'same-site' })).toBe(403);
    for (const origin of ['https://evil.example', 'null', `https://${host}.evil.example`, `https://${host}:8443`])
      expect([origin, await statusOf({ ...own, host, origin })]).toEqual([origin, 403]);
    expect(await statusOf(own)).toBe(400);
    expect(await statusOf({ ...own, host, origin: `https://${host}` })).toBe(400);
    expect(await statusOf({ ...own, 'sec-fetch-site': 'same-origin' })).toBe(400);
  });

  it('C35.21: no preflight of the API lets a page of another origin send the header', async () => {
    const headers = {
      origin: 'https://evil.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'x-reelwright-session',
    };
    for (const path of ['/api/jobs', '/api/sessions', '/api/media/a']) {
      const answer = await api.raw(path, { method: 'OPTIONS', headers });
      expect(answer.headers.get('access-control-allow-headers') ?? '').not.toMatch(/session|\*/i);
    }
  });

  it('C35.21: `EventSource`, which sends no header of its own, follows a job where the browser says the origin is its own', async () => {
    const { json } = await api.submit({ type: 'image:thumbnail', hash: 'acme-1', source: 'a.jpg' });
    await api.call(`/api/jobs/${json.job_id}/cancel`, { method: 'POST' });
    const cookie = await begin(acme.text);
    const path = `/api/jobs/${json.job_id}/events`;
    const answer = await get(path, { cookie, 'sec-fetch-site': 'same-origin' });
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('"cancelled"')]);
    expect((await get(path, { cookie })).status).toBe(403);
  });

  it('C35.21: an API key in the same request counts, and the cookie does not', async () => {
    const cookie = await begin(acme.text, { rights: ['read'] });
    expect((await get('/api/keys', { cookie, 'x-api-key': apiKey })).status).toBe(200);
    expect((await get('/api/jobs', { cookie, ...own, 'x-api-key': 'wrong' })).status).toBe(401);
  });
});
