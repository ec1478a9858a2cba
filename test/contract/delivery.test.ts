import { createHash } from 'node:crypto';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { imageKey, masterKey, mediaPrefix, videoKey } from '#domain/media/object-keys.ts';
import { signThumbPath, thumbSecretsOf } from '#domain/playback/thumb.ts';
import { signPlaybackToken } from '#domain/playback/token.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { type ApiUnderTest, keyTokenSecret, startApi } from './api-under-test.ts';

// docs/reference/contract.md, "Images" and "Errors": images and errors of delivery in more detail, and delivery while
// the bucket is away.

const photo = 'images/ab/photo/0123456789abcdef/thumb.png';
const [derived = ''] = thumbSecretsOf([], keyTokenSecret);
const rotation = ['the newer secret of thumbs', 'the older secret of thumbs'];

const sign = (query: Record<string, string | number>, secret = derived) => signThumbPath(photo, query, secret);

/** A bucket that is away. */
const away = new Proxy({} as ObjectStore, {
  get: (_, name) =>
    name === 'close' ? () => Promise.resolve() : () => Promise.reject(new Error('the bucket is away')),
});

let api: ApiUnderTest;
let rotated: ApiUnderTest;
let broken: ApiUnderTest;

beforeAll(async () => {
  api = await startApi();
  rotated = await startApi(
    { thumbSecrets: rotation, streamMutableCacheControl: 'public, max-age=5' },
    { media: api.d.media },
  );
  broken = await startApi({}, { media: away });
  const noise = Buffer.from(Array.from({ length: 640 * 480 * 3 }, (_, at) => (at * 7919 + (at >> 3) * 104_729) & 0xff));
  const raw = { raw: { width: 640, height: 480, channels: 3 } } as const;
  await api.putMedia(photo, await sharp(noise, raw).png().toBuffer());
});
afterAll(async () => {
  await broken.close();
  await rotated.close();
  await api.close();
});

it('C27.4: keys have their documented parts, and the prefix is the first two hexadecimal characters of SHA-256 of the hash', () => {
  for (const hash of ['movie-1', 'a', 'ß'])
    expect(mediaPrefix(hash)).toBe(createHash('sha256').update(hash).digest('hex').slice(0, 2));
  const rev = '0123456789abcdef';
  expect(imageKey('movie-1', rev, { variant: 'small', format: 'webp' })).toBe(`images/bd/movie-1/${rev}/small.webp`);
  expect(videoKey('movie-1', rev, 'cover.jpg')).toBe(`videos/bd/movie-1/${rev}/cover.jpg`);
  expect(masterKey('movie-1')).toBe('videos/bd/movie-1/master.m3u8');
});

describe('`/thumb`', () => {
  it('C20.3: fit=contain gives the size that was asked for with the whole image inside', async () => {
    const { bytes } = await api.call(sign({ w: 200, h: 200, fit: 'contain' }));
    expect(await sharp(bytes).metadata()).toMatchObject({ width: 200, height: 200, hasAlpha: true });
    // Bars above and below are clear; the middle is the image.
    const alphaAt = async (top: number) =>
      (await sharp(bytes).extract({ left: 100, top, width: 1, height: 1 }).ensureAlpha().raw().toBuffer())[3];
    expect([await alphaAt(2), await alphaAt(100), await alphaAt(197)]).toEqual([0, 255, 0]);
  });

  it('C20.3: a lower `q` makes a smaller image', async () => {
    const sizes = [];
    for (const q of [10, 50, 95]) sizes.push((await api.call(sign({ w: 300, f: 'webp', q }))).bytes.length);
    expect(sizes).toEqual(sizes.toSorted((a, b) => a - b));
    expect(sizes[2]).toBeGreaterThan(2 * (sizes[0] ?? 0));
  });

  it('C20.10: each secret of THUMB_SECRET is accepted, and then the derived one is not', async () => {
    for (const secret of rotation) expect((await rotated.call(sign({ w: 30 }, secret))).status).toBe(200);
    expect((await rotated.call(sign({ w: 30 }))).status).toBe(403);
    expect((await api.call(sign({ w: 30 }, rotation[0]))).status).toBe(403);
  });
});

it('C17.12: STREAM_MUTABLE_CACHE_CONTROL is the Cache-Control of addresses that a new revision changes, and of no others', async () => {
  const rev = '0123456789abcdef';
  await api.putMedia(masterKey('mutable'), `#EXTM3U\n${rev}/video/r1_h264/playlist.m3u8\n`);
  for (const name of ['master.m3u8', 'video/r1_h264/playlist.m3u8'])
    await api.putMedia(videoKey('mutable', rev, name), '#EXTM3U\n');
  const below = `/stream/mutable/${rev}/master.m3u8`;
  for (const [path, header] of [
    ['/stream/mutable/master.m3u8', 'public, max-age=5'],
    ['/stream/mutable/video/r1_h264/playlist.m3u8', 'public, max-age=5'],
    [below, 'public, max-age=31536000, immutable'],
  ] as const)
    // Twice: the second answer comes from memory.
    for (let n = 0; n < 2; n++) expect((await rotated.raw(path)).headers.get('cache-control')).toBe(header);
});

describe('pages of other origins', () => {
  it.each([
    ['GET', '/stream/movie/none.m4s', 404],
    ['GET', '/stream/', 400],
    ['GET', '/stream/movie/%zz.m4s', 400],
    ['POST', '/stream/movie/a.m4s', 405],
    ['GET', '/thumb/a', 404],
    ['GET', '/thumb/a/b', 403],
    ['GET', '/thumb/%zz/b', 400],
    ['POST', '/thumb/a/b', 405],
    ['GET', '/api/key/movie', 401],
    ['GET', '/api/key/%zz', 400],
    ['POST', '/api/key/movie', 405],
  ])(
    'C17.11, C18.10, C28.5: the refusal of %s %s, %i, can be read by a page of any origin',
    async (method, path, status) => {
      const { status: answered, headers, json } = await api.raw(path, { method });
      expect([answered, json.status]).toEqual([status, status]);
      expect(headers.get('access-control-allow-origin')).toBe('*');
      expect(headers.get('access-control-expose-headers')).toContain('X-Trace-ID');
      expect(headers.get('cross-origin-resource-policy')).toBe('cross-origin');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('api-version')).toBe('1');
    },
  );

  it.each(['/api/jobs', '/api/keys', '/nowhere', '/%zz'])('no page of another origin can read %s', async (path) => {
    const { headers } = await api.raw(path);
    expect([headers.has('access-control-allow-origin'), headers.get('api-version')]).toEqual([false, '1']);
  });
});

describe('while the bucket is away', () => {
  it.each([
    ['/stream/movie/master.m3u8', 500],
    ['/stream/movie/0123456789abcdef/video/r360_h264/seg_1.m4s', 500],
    [signThumbPath(photo, { w: 30 }, derived), 500],
    ['/stream/movie/../master.m3u8', 400],
    ['/api/key/movie', 401],
  ])('C17.18, C22.24: %s answers %i while the bucket is away, which no cache keeps', async (path, status) => {
    const answer = await broken.raw(path);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.text).not.toContain('the bucket is away');
  });

  it('C18.11: the key endpoint answers while the bucket is away', async () => {
    await broken.d.contentKeys.findOrCreate('movie');
    const token = signPlaybackToken({ hash: 'movie', exp: Math.floor(Date.now() / 1000) + 60 }, keyTokenSecret);
    const { status } = await broken.raw('/api/key/movie', { headers: { authorization: `Bearer ${token}` } });
    expect(status).toBe(200);
  });
});
