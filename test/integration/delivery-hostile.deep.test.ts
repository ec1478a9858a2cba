import { createHmac } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { masterKey, videoKey } from '#domain/media/object-keys.ts';
import { signThumbPath, thumbSecretsOf } from '#domain/playback/thumb.ts';
import { findIsolation } from '#platform/commands/isolation.ts';
import { ImageProcessor } from '#platform/images/image-processor.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { type ApiUnderTest, keyTokenSecret, startApi } from '../contract/api-under-test.ts';
import { getRaw, type RawAnswer } from '../../testing/raw-http.ts';
import { sourceOf } from '../../testing/image-source.ts';

// What attackers send to delivery, byte for byte on a socket: no client on the way encodes or tidies it. No answer may
// hold what lies outside, none may be a fault of ours (5xx), and the server must be there afterwards.

const hash = 'movie-1';
const rev = '0123456789abcdef';
const secretText = 'no client may read this';
const escapes = (text: string, times: number) => {
  let escaped = text;
  for (let i = 0; i < times; i++)
    escaped = escaped.replaceAll(/[%./\\\0]/g, (c) => `%${c.charCodeAt(0).toString(16).padStart(2, '0')}`);
  return escaped;
};
let api: ApiUnderTest;

beforeAll(async () => {
  api = await startApi();
  await api.putMedia(masterKey(hash), `#EXTM3U\n${rev}/video/r360_h264/playlist.m3u8\n`);
  await api.putMedia(videoKey(hash, rev, 'video/r360_h264/init.mp4'), 'init');
  for (const key of ['secret.m3u8', 'work/secret.m3u8', 'videos/secret.m3u8', `${masterKey(hash)}.secret.m3u8`])
    await api.putMedia(key, secretText);
  const look = { create: { width: 8, height: 8, channels: 3, background: 'red' } } as const;
  await api.putMedia('work/secret.png', await sharp(look).png().toBuffer());
  await api.d.contentKeys.findOrCreate(hash);
});
afterAll(async () => {
  const alive = await getRaw(api.url, `/stream/${hash}/master.m3u8`);
  await api.close();
  expect(alive.status).toBe(200);
});

function expectRefusal(answer: RawAnswer, statuses: readonly number[], what: string): void {
  expect(statuses, what).toContain(answer.status);
  expect(answer.body, what).not.toContain(secretText);
  expect(answer.head, what).toContain('cache-control: no-store');
  expect(answer.head, what).toContain('content-type: application/problem+json');
}

describe('hostile paths of /stream', () => {
  const climbs = [
    '../../../secret.m3u8',
    `${rev}/../../../../work/secret.m3u8`,
    '..\\..\\secret.m3u8',
    './master.m3u8',
    'a/./master.m3u8',
    'a//master.m3u8',
    '\\master.m3u8',
    'master.m3u8\0.mp4',
    '..;/secret.m3u8',
    'a..b.m3u8',
  ];

  it.each(climbs.flatMap((climb) => [0, 1, 2].map((times) => [climb, times] as const)))(
    '%j, encoded %i times, answers 400',
    async (climb, times) => {
      const answer = await getRaw(api.url, `/stream/${hash}/${escapes(climb, times)}`);
      expectRefusal(answer, [400], climb);
    },
  );

  it.each([
    // Decoded twice there is still an escape in it: the name of an object that is not there.
    ['three times encoded', escapes('../secret.m3u8', 3), 404],
    ['dots in overlong UTF-8', '%c0%ae%c0%ae/secret.m3u8', 400],
    ['half a UTF-8 sequence', 'a%e2%82.m3u8', 400],
    ['an escape of no hex digits', '%2x%2x/secret.m3u8', 400],
    ['IIS style escapes', '%u002e%u002e/secret.m3u8', 400],
    ['full-width dots', `${encodeURI('．．/secret')}.m3u8`, 404],
    ['raw bytes above ASCII', '\xff\xfe/secret.m3u8', 400],
    ['a tab', 'a%09b.m3u8', 400],
    ['a line end', 'a%0d%0aSet-Cookie:%20x.m3u8', 400],
    ['a delete', 'a%7f.m3u8', 400],
    ['nothing', '', 400],
    ['10 kB of one name', `${'x'.repeat(10_240)}.m3u8`, 404],
    ['10 kB of climbing', `${'../'.repeat(3413)}x.m3u8`, 400],
    ['10 kB of folders', `${'a/'.repeat(5120)}x.m3u8`, 404],
    ['10 kB of escapes', `${'%41'.repeat(3413)}.m3u8`, 404],
    ['a name of 300 bytes, more than a file has', `${'x'.repeat(300)}.m3u8`, 404],
    ['another media in the name', `${hash}/master.m3u8`, 404],
    ['what lies beside the master', 'master.m3u8.secret.m3u8', 404],
    ['an extension of another kind', 'manifest.ism', 404],
    ['an extension in another case', 'master.M3U8', 404],
    ['a semicolon after the name', 'master.m3u8;x', 404],
  ])('%s', async (what, path, status) => {
    const answer = await getRaw(api.url, `/stream/${hash}/${path}`);
    if (what === 'what lies beside the master') expect(answer.status).toBe(200);
    else expectRefusal(answer, [status], what);
  });

  it.each([
    ['a hash that climbs', '/stream/../secret.m3u8', [400]],
    ['a hash of dots, encoded', '/stream/%2e%2e/%2e%2e/secret.m3u8', [400]],
    ['a hash with a slash in it', '/stream/a%2f..%2f..%2fb/secret.m3u8', [400]],
    ['no hash', '/stream//master.m3u8', [400]],
    ['an absolute target', `http://media.test/stream/${hash}/../../../secret.m3u8`, [400, 404]],
    ['a climb before the route', `/x/../stream/${hash}/master.m3u8`, [404]],
    ['two slashes before the route', `//stream/${hash}/master.m3u8`, [404]],
    ['a query after a climb', `/stream/${hash}/..?/master.m3u8`, [400]],
    ['a fragment', `/stream/${hash}/..#/master.m3u8`, [400, 404]],
  ])('%s', async (what, target, statuses) => {
    expectRefusal(await getRaw(api.url, target), statuses, what);
  });

  it.each([
    ['a NUL byte as it is', `/stream/${hash}/a\0.m3u8`, 400],
    ['a request head over 16 KiB', `/stream/${hash}/${'x'.repeat(20_000)}.m3u8`, 431],
  ])('%s is no HTTP, and is answered as such', async (what, target, status) => {
    expectRefusal(await getRaw(api.url, target), [status], what);
  });
});

const encode = (value: string | Buffer) => Buffer.from(value).toString('base64url');
const hmac = (text: string, secret = keyTokenSecret, algorithm = 'sha256') =>
  createHmac(algorithm, secret).update(text).digest('base64url');

describe('hostile tokens of /api/key', () => {
  const signed = (payload: string | Buffer) => `${encode(payload)}.${hmac(encode(payload))}`;
  const inAnHour = Math.floor(Date.now() / 1000) + 3600;
  const payload = (fields: object) => JSON.stringify({ hash, exp: inAnHour, ...fields });
  const good = signed(payload({}));
  const [goodPayload = '', goodSignature = ''] = good.split('.');
  const jwtHead = (alg: string) => encode(JSON.stringify({ alg, typ: 'JWT' }));
  const ask = (token: string, ...more: string[]) =>
    getRaw(api.url, `/api/key/${hash}`, `Authorization: Bearer ${token}`, ...more);

  it('a good one gets its 16 bytes, also with fields that the contract does not know, such as an `iat` to come', async () => {
    for (const token of [good, signed(payload({ iat: inAnHour + 600, nbf: inAnHour, role: 'admin' }))]) {
      const answer = await ask(token);
      expect([answer.status, answer.body.length]).toEqual([200, 16]);
    }
  });

  const forged: [string, string][] = [
    ['hash of another media', signed(payload({ hash: 'movie-2' }))],
    ['hash in other letters', signed(payload({ hash: 'MOVIE-1' }))],
    ['hash with a NUL', signed(payload({ hash: `${hash}\0` }))],
    ['hash as a list', signed(payload({ hash: [hash] }))],
    ['hash as an object', signed(payload({ hash: { toString: hash } }))],
    ['hash of look-alike letters', signed(payload({ hash: 'mоvie-1' }))],
    ['hash twice, the last of another', signed(`{"hash":"${hash}","exp":${inAnHour},"hash":"movie-2"}`)],
    ['no hash', signed(JSON.stringify({ exp: inAnHour }))],
    ['exp of a second ago', signed(payload({ exp: Math.floor(Date.now() / 1000) - 1 }))],
    ['exp of 1970', signed(payload({ exp: 0 }))],
    ['a negative exp', signed(payload({ exp: -1 }))],
    ['exp as text', signed(payload({ exp: String(inAnHour) }))],
    ['exp with a fraction', signed(payload({ exp: inAnHour + 0.5 }))],
    ['exp beyond all numbers', signed(`{"hash":"${hash}","exp":1e999}`)],
    ['exp beyond whole numbers', signed(`{"hash":"${hash}","exp":99999999999999999999}`)],
    ['exp of nothing', signed(payload({ exp: null }))],
    ['no exp', signed(JSON.stringify({ hash }))],
    ['a payload that is no JSON', signed('hash=movie-1')],
    ['a payload that is no UTF-8', signed(Buffer.from([0xff, 0xfe, 0x7b]))],
    ['a payload of null', signed('null')],
    ['a payload with a prototype', signed(`{"__proto__":{"hash":"${hash}","exp":${inAnHour}}}`)],
    ['a later exp under the old signature', `${encode(payload({ exp: inAnHour + 1 }))}.${goodSignature}`],
    [
      'the same fields in another order, unsigned',
      `${encode(`{"exp":${inAnHour},"hash":"${hash}"}`)}.${goodSignature}`,
    ],
    ['another secret', `${goodPayload}.${hmac(goodPayload, 'another secret of someone')}`],
    ['an empty secret', `${goodPayload}.${hmac(goodPayload, '')}`],
    ['SHA-512', `${goodPayload}.${hmac(goodPayload, keyTokenSecret, 'sha512')}`],
    ['SHA-1', `${goodPayload}.${hmac(goodPayload, keyTokenSecret, 'sha1')}`],
    ['a signature over the raw JSON', `${goodPayload}.${hmac(payload({}))}`],
    ['a signature in hex', `${goodPayload}.${Buffer.from(goodSignature, 'base64url').toString('hex')}`],
    ['a signature cut short', good.slice(0, -1)],
    ['a signature of no characters', `${goodPayload}.`],
    ['no signature', goodPayload],
    ['padding', `${good}=`],
    ['a character that base64url does not know', good.replace(/.$/, '!')],
    ['a line break inside, folded', `${goodPayload}.\t${goodSignature}`],
    ['a JWT of alg none', `${jwtHead('none')}.${goodPayload}.`],
    ['a JWT of alg none without its last dot', `${jwtHead('none')}.${goodPayload}`],
    [
      'a JWT of HS256 with the right secret',
      `${jwtHead('HS256')}.${goodPayload}.${hmac(`${jwtHead('HS256')}.${goodPayload}`)}`,
    ],
    ['two tokens', `${good},${good}`],
    ['10 kB of signed payload for another', signed(payload({ hash: 'x'.repeat(7000) }))],
    ['10 kB of nonsense', 'A'.repeat(10_240)],
    ['10 kB of dots', '.'.repeat(10_240)],
    ['bytes above ASCII', `${good}\xc3\xa9`],
    ['emoji as it comes', Buffer.from('🔑.🔑').toString('latin1')],
    ['the API key', 'api-key-of-the-contract-tests'],
    ['the secret itself', keyTokenSecret],
  ];

  it.each(forged)('%s: 403, and the answer does not say why', async (what, token) => {
    const answer = await ask(token);
    expectRefusal(answer, [403], what);
    const { trace_id: _, ...problem } = JSON.parse(answer.body) as Record<string, unknown>;
    expect(problem).toEqual({
      type: expect.any(String) as string,
      title: expect.any(String) as string,
      status: 403,
      code: 'forbidden',
      ...(problem['detail'] === undefined ? {} : { detail: await detailOfForbidden() }),
      ...(problem['instance'] === undefined ? {} : { instance: `/api/key/${hash}` }),
    });
  });
  let known: unknown;
  const detailOfForbidden = async () => (known ??= (JSON.parse((await ask('x.y')).body) as { detail: unknown }).detail);

  it.each([
    ['a query', [`/api/key/${hash}?token=${good}`]],
    ['a cookie', [`/api/key/${hash}`, `Cookie: token=${good}`]],
    ['another scheme', [`/api/key/${hash}`, `Authorization: Basic ${good}`]],
    ['no scheme', [`/api/key/${hash}`, `Authorization: ${good}`]],
    ['X-API-Key', [`/api/key/${hash}`, `X-API-Key: ${good}`]],
  ])('C19.11: a good token in %s answers 401', async (what, [target = '', ...headers]) => {
    expectRefusal(await getRaw(api.url, target, ...headers), [401], what);
  });

  it('at most the first of two Authorization headers counts', async () => {
    expect((await ask('x.y', `Authorization: Bearer ${good}`)).status).not.toBe(200);
  });

  it.each(['..', '%2e%2e', '%00', 'a%2fb', 'movie-1%20', '%ff', 'x'.repeat(10_240), 'movie-1%5c', 'movie%2d2'])(
    'a good token opens nothing at /api/key/%s',
    async (name) => {
      const answer = await getRaw(api.url, `/api/key/${name}`, `Authorization: Bearer ${good}`);
      expectRefusal(answer, [400, 403, 404], name);
    },
  );
});

describe('hostile addresses of /thumb', () => {
  const [secret = ''] = thumbSecretsOf([], keyTokenSecret);
  const sign = (key: string, query: Record<string, string> = {}) => signThumbPath(key, query, secret);
  /** Any text in the place of the key, with a signature that holds. */
  const signedText = (text: string) =>
    `/thumb/${createHmac('sha256', secret).update(`/${text}`).digest('base64url')}/${text}`;

  it.each([
    ['outside the two prefixes', 'work/secret.png'],
    ['a climb out of them', 'images/ab/../../work/secret.png'],
    ['a climb, encoded', 'images/ab/%2e%2e/%2e%2e/work/secret.png'],
    ['backslashes', 'images\\ab\\..\\..\\work\\secret.png'],
    ['a NUL', 'images/ab/x/0123456789abcdef/a\0.png'],
    ['an empty segment', 'images/ab//secret.png'],
    ['a leading slash', '/images/ab/x/a.png'],
    ['a folder', 'images/ab/x/'],
    ['no key', ''],
    ['10 kB', `images/ab/${'x'.repeat(7_000)}.png`],
    ['a name of 300 bytes, more than a file has', `images/ab/${'x'.repeat(300)}.png`],
    ['a playlist', masterKey(hash)],
    ['a segment', videoKey(hash, rev, 'video/r360_h264/init.mp4')],
    ['a cached image under its own key', `cache/thumb/ab/${'a'.repeat(64)}.webp`],
  ])('a signed key that is %s: 404', async (what, key) => {
    expectRefusal(await getRaw(api.url, sign(key)), [404], what);
  });

  it.each(['%2e%2e', '!!!!', 'aW1hZ2Vz%00', 'A'.repeat(10_240), 'aW1hZ2Vz=', 'w6k', '_____'])(
    'a signed text that is no key: %s',
    async (text) => {
      expectRefusal(await getRaw(api.url, signedText(text)), [403, 404], text);
    },
  );

  it.each([
    ['twice the same option', `${sign('images/ab/x/a.png', { w: '10' })}&w=10`],
    ['an option more', `${sign('images/ab/x/a.png', { w: '10' })}&h=10`],
    ['an option less', sign('images/ab/x/a.png', { w: '10' }).replace('?w=10', '')],
    ['an empty signature', '/thumb/-/aW1hZ2Vz'],
    ['10 kB of signature', `/thumb/${'A'.repeat(10_240)}/aW1hZ2Vz`],
    ['a signature of bytes above ASCII', '/thumb/%c3%a9/aW1hZ2Vz'],
    ['a signature that is no UTF-8', '/thumb/%ff/aW1hZ2Vz'],
    [
      'the signature of a token',
      `/thumb/${createHmac('sha256', keyTokenSecret).update('/aW1hZ2Vz').digest('base64url')}/aW1hZ2Vz`,
    ],
  ])('%s: refused', async (what, path) => {
    expectRefusal(await getRaw(api.url, path), [400, 403], what);
  });

  it('"The signature is checked … before storage is touched": a bucket that cannot be touched changes no refusal', async () => {
    const touched: string[] = [];
    const untouchable = new Proxy({} as ObjectStore, {
      get: (_, name) =>
        name === 'close'
          ? () => Promise.resolve()
          : (...[key]: unknown[]) => {
              touched.push(`${String(name)} ${String(key)}`);
              return Promise.reject(new Error('the bucket was touched'));
            },
    });
    const other = await startApi({}, { media: untouchable });
    try {
      const path = sign('images/ab/x/0123456789abcdef/a.png', { w: '10' });
      for (const wrong of [
        path.replace('w=10', 'w=11'),
        path.replace('/thumb/', '/thumb/x'),
        sign('images/ab/x/a.png', { exp: '1' }),
      ])
        expectRefusal(await getRaw(other.url, wrong), [403], wrong);
      expect(touched).toEqual([]);
      expect((await getRaw(other.url, path)).status).toBe(500);
      expect(touched).not.toEqual([]);
    } finally {
      await other.close();
    }
  });
});

const found = await findIsolation({ env: { PATH: process.env['PATH'] ?? '' }, readOnly: null });

describe.skipIf(!('isolation' in found))('the process that makes images', () => {
  it('the image process sees no process of the server, has no privileges and bounded memory', async () => {
    const images = new ImageProcessor('isolation' in found ? found : {});
    const look = { create: { width: 8, height: 8, channels: 3, background: 'red' } } as const;
    const work = { width: 4, height: null, fit: 'inside', format: 'png', quality: 80 } as const;
    const red = await sharp(look).png().toBuffer();
    expect((await images.make(sourceOf(red), work)).length).toBeGreaterThan(0);
    // unshare, and below it the process itself.
    const [unshare = 0] = childrenOf(process.pid).filter((pid) => commandOf(pid).includes('image-process.ts'));
    const [pid = 0] = childrenOf(unshare);
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    expect(status).toMatch(/^NSpid:\s+\d+\s+1$/m);
    expect(status).toMatch(/^CapEff:\s+0+$/m);
    expect(readFileSync(`/proc/${pid}/limits`, 'utf8')).toMatch(/^Max data size\s+\d+/m);
    expect(readFileSync(`/proc/${pid}/net/dev`, 'utf8')).not.toContain('eth');
    await images.close();
    // Ended, perhaps not yet collected by the first process of the machine.
    await expect.poll(() => !existsSync(`/proc/${pid}`) || commandOf(pid) === '').toBe(true);
  });
});

const commandOf = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, 'utf8');

function childrenOf(parent: number): number[] {
  const tasks = readdirSync(`/proc/${parent}/task`);
  const texts = tasks.map((task) => readFileSync(`/proc/${parent}/task/${task}/children`, 'utf8'));
  return texts.join(' ').split(/\s+/).filter(Boolean).map(Number);
}
