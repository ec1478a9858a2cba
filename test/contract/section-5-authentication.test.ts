import { createHmac } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { thumbSecretsOf } from '#domain/playback/thumb.ts';
import { signPlaybackToken } from '#domain/playback/token.ts';
import { apiKey, type ApiUnderTest, keyTokenSecret, olderApiKey, startApi } from './api-under-test.ts';

// Section 5, "Authentication". Beside this: domain/playback/token.test.ts (every way to forge a token) and
// test/integration/delivery-hostile.test.ts (the same over HTTP). Tokens in addresses:
// "A typical flow has the application authenticate the user, return `/stream/<hash>/master.m3u8` plus a short-lived token,
// and the player attaches the token only to `/api/key/<hash>` requests.": test/integration/player.test.ts, 'sends the token to
// the key endpoint alone, as a header'.
// "The token must never appear in playlist or segment URLs.": section-1-service.test.ts, '"Raw encryption keys are passed to
// the packaging tool as arguments and are not written to disk as files"'.
// "### Webhook signature" "Webhooks carry `X-Signature: sha256=<hex>`. The secret used and the exact bytes covered: not
// shown.": section-6-events.test.ts, '"`POST` to `callback_url`" with the specified headers and body; both signatures hold'.

let api: ApiUnderTest;
const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;

const ask = (authorization: string | null, path = '/api/key/video-1') =>
  api.raw(path, { headers: authorization === null ? {} : { authorization } });

beforeAll(async () => {
  api = await startApi();
  await api.d.contentKeys.findOrCreate('video-1');
});
afterAll(() => api.close());

// "| `POST /api/jobs`, `GET /api/jobs/{id}`, `POST /api/jobs/{id}/retry` | header `X-API-Key: <API_KEY>`; internal use only |"
describe('header `X-API-Key: <API_KEY>`; internal use only', () => {
  const routes = [
    ['POST', '/api/jobs'],
    ['GET', '/api/jobs/00000000-0000-4000-8000-000000000000'],
    ['POST', '/api/jobs/00000000-0000-4000-8000-000000000000/retry'],
  ] as const;

  // Section 7: "Status for a missing or wrong `X-API-Key`: not shown." decisions.md: "401 for both, same body,
  // constant-time comparison. `API_KEY` may hold several keys separated by commas (rotation)."
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

// "| `GET /api/key/{hash}` | header `Authorization: Bearer <ACCESS_TOKEN>`; `X-API-Key` is not accepted |"
// Section 4: "**`GET /api/key/{hash}`** (Bearer token, section 5)" "Does not accept `X-API-Key`."
// "Validation on `GET /api/key/{hash}`:"
describe('`GET /api/key/{hash}`: header `Authorization: Bearer <ACCESS_TOKEN>`', () => {
  it('"`X-API-Key` is not accepted"', async () => {
    expect((await api.raw('/api/key/video-1', { headers: { 'x-api-key': apiKey } })).status).toBe(401);
    expect((await ask(`Bearer ${apiKey}`)).status).toBe(403);
  });

  // "Format: `<payload_b64>.<signature_b64>`." "`payload_b64` = base64url (no padding) of the JSON `{hash, exp}`."
  // "`signature_b64` = base64url (no padding) of HMAC-SHA256, keyed with `KEY_TOKEN_SECRET`, computed over the
  // `payload_b64` text (not the raw JSON bytes)."
  // Section 2: "JSON object `{hash: string, exp: integer}` where `exp` is a Unix timestamp in seconds."
  it('takes a token that is made as section 5 says, by hand', async () => {
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
  ])('refuses the signed payload %j, which is no `{hash: string, exp: integer}`', async (value) => {
    const payload = Buffer.from(JSON.stringify(value)).toString('base64url');
    const signature = createHmac('sha256', keyTokenSecret).update(payload).digest('base64url');
    expect((await ask(`Bearer ${payload}.${signature}`)).status).toBe(403);
  });

  // Section 8: "| Token lifetime | playback token | carried in `exp`; the issuer chooses it |"
  it('takes a token for two seconds or for a century, as its issuer chose, and not a moment longer', async () => {
    const nowSec = Math.floor(Date.now() / 1000);
    const [brief, long] = [nowSec + 2, nowSec + 36_500 * 86_400].map(
      (exp) => `Bearer ${signPlaybackToken({ hash: 'video-1', exp }, keyTokenSecret)}`,
    ) as [string, string];
    expect((await ask(long)).status).toBe(200);
    await expect.poll(async () => (await ask(brief)).status, { timeout: 10_000, interval: 200 }).toBe(403);
    expect(Date.now() / 1000).toBeGreaterThanOrEqual(nowSec + 3);
    expect((await ask(long)).status).toBe(200);
  });

  it('"The `Authorization: Bearer` header must be present": 401, and says which scheme', async () => {
    for (const header of [null, '', 'Bearer', 'Bearer ', 'Basic dTpw']) {
      const answer = await ask(header);
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    }
  });

  // "The signature must be valid." "`exp` must not be in the past." "The payload `hash` must equal the `{hash}` in the
  // path."
  // decisions.md: "The 403 body does not say which check failed. The payload is parsed only after its signature holds."
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

// "| `GET /stream/{hash}/*` | none |
// | `/healthz`, `/readyz`, `/metrics` | none |"
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

// "`KEY_TOKEN_SECRET`, `API_KEY` and any HMAC secret must never be given to browsers or public clients."
it('gives no secret to whoever asks: not in the player and its files, nor in any public answer or its headers', async () => {
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
