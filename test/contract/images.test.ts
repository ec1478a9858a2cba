import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { availableParallelism } from 'node:os';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signThumbPath, thumbSecretsOf } from '#domain/playback/thumb.ts';
import { heic } from '../../testing/heif.ts';
import { type ApiUnderTest, keyTokenSecret, startApi } from './api-under-test.ts';

// docs/reference/contract.md, "Images".

const [secret = ''] = thumbSecretsOf([], keyTokenSecret);
const photo = 'images/ab/photo/0123456789abcdef/thumb.jpg';
const drawing = 'images/ab/photo/0123456789abcdef/drawing.png';
const moving = 'videos/ab/clip/0123456789abcdef/preview.gif';
const heif = 'images/ab/photo/0123456789abcdef/photo.jpg';
const broken = 'images/ab/photo/0123456789abcdef/broken.jpg';

let api: ApiUnderTest;
const sign = (key: string, query: Record<string, string | number> = {}) => signThumbPath(key, query, secret);

/** The images that were not in the bucket. */
const misses = async () =>
  Number(/_cache_events_total\{layer="bucket",result="miss"\} (\d+)/.exec((await api.call('/metrics')).text)?.[1] ?? 0);

beforeAll(async () => {
  api = await startApi();
  const noise = { create: { width: 640, height: 480, channels: 3, background: '#336699' } } as const;
  await api.putMedia(photo, await sharp(noise).withMetadata({ orientation: 6 }).jpeg().toBuffer());
  const clear = {
    create: { width: 300, height: 200, channels: 4, background: { r: 255, g: 0, b: 0, alpha: 0.5 } },
  } as const;
  await api.putMedia(drawing, await sharp(clear).png().toBuffer());
  const frames = await Promise.all(
    ['#ff0000', '#00ff00', '#0000ff'].map((background) =>
      sharp({ create: { width: 120, height: 80, channels: 3, background } })
        .png()
        .toBuffer(),
    ),
  );
  const animation = sharp(frames, { join: { animated: true } }).gif({ delay: [100, 100, 100] });
  await api.putMedia(moving, await animation.toBuffer());
  const upper = sharp({ create: { width: 160, height: 60, channels: 3, background: '#dc1414' } });
  await api.putMedia(heif, await heic(upper.extend({ bottom: 60, background: '#1414dc' }), { irot: 3 }));
  await api.putMedia(broken, Buffer.from('this is no JPEG'));
});
afterAll(() => api.close());

describe('`GET /thumb/{sig}/{encoded_key}`', () => {
  it('C20.1, C20.2, C20.3: an image has the size that `w`, `h` and `fit` ask for, upright', async () => {
    const inside = await api.call(sign(photo, { w: 100, h: 100 }));
    expect(inside.status).toBe(200);
    expect(inside.headers.get('content-type')).toBe('image/jpeg');
    // EXIF turns it on its side: 640 × 480 is shown as 480 × 640.
    expect(await sharp(inside.bytes).metadata()).toMatchObject({ width: 75, height: 100, format: 'jpeg' });
    const cover = await api.call(sign(photo, { w: 100, h: 100, fit: 'cover', f: 'webp' }));
    expect(await sharp(cover.bytes).metadata()).toMatchObject({ width: 100, height: 100, format: 'webp' });
  });

  it('C20.7: an image is never enlarged', async () => {
    const { bytes } = await api.call(sign(photo, { w: 4096 }));
    expect(await sharp(bytes).metadata()).toMatchObject({ width: 480, height: 640 });
  });

  it('C15.3: a HEIC whatever its name is shown upright in its colours', async () => {
    const { bytes } = await api.call(sign(heif, { w: 60, f: 'png' }));
    const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
    expect([info.width, info.height, info.channels]).toEqual([60, 80, 3]);
    // A quarter clockwise: what was below is at the left.
    for (const [x, wanted] of [
      [10, [20, 20, 220]],
      [50, [220, 20, 20]],
    ] as const) {
      const pixel = [...data.subarray((40 * 60 + x) * 3, (40 * 60 + x) * 3 + 3)];
      expect(pixel.map((value, channel) => Math.abs(value - (wanted[channel] ?? 0)) <= 4)).toEqual([true, true, true]);
    }
  });

  it.each([
    ['webp', 'image/webp', 'webp'],
    ['jpg', 'image/jpeg', 'jpeg'],
    ['png', 'image/png', 'png'],
    ['avif', 'image/avif', 'heif'],
  ])('C20.3: an image with f=%s is served as %s', async (f, contentType, format) => {
    const answer = await api.call(sign(drawing, { w: 50, f }));
    expect(answer.headers.get('content-type')).toBe(contentType);
    expect(await sharp(answer.bytes).metadata()).toMatchObject({ width: 50, format });
  });

  it('C20.8: f=auto chooses the format by Accept and sends Vary', async () => {
    const path = sign(photo, { w: 40, f: 'auto' });
    const modern = await api.call(path, { headers: { accept: 'image/avif,image/webp,*/*' } });
    expect([modern.headers.get('content-type'), modern.headers.get('vary')]).toEqual(['image/avif', 'Accept']);
    const plain = await api.call(path, { headers: { accept: '*/*' } });
    expect([plain.headers.get('content-type'), plain.headers.get('vary')]).toEqual(['image/jpeg', 'Accept']);
  });

  it('C20.13: an animation stays one when it is resized', async () => {
    const { bytes } = await api.call(sign(moving, { w: 60, f: 'webp' }));
    expect(await sharp(bytes, { animated: true }).metadata()).toMatchObject({ width: 60, pages: 3, pageHeight: 40 });
  });

  it('C20.8, C20.13: an animation stays one whatever formats a browser takes', async () => {
    const accept = 'image/avif,image/webp,*/*';
    const { bytes } = await api.call(sign(moving, { w: 60, f: 'auto' }), { headers: { accept } });
    expect(await sharp(bytes, { animated: true }).metadata()).toMatchObject({ format: 'webp', pages: 3 });
  });

  it('C20.4: a wrong or expired signature answers 403 without asking storage', async () => {
    const past = Math.floor(Date.now() / 1000) - 1;
    for (const path of [
      sign(photo, { w: 10 }).replace('w=10', 'w=11'),
      sign(photo, { w: 10, exp: past }),
      signThumbPath(photo, { w: 10 }, keyTokenSecret),
      sign('images/ab/nothing/0123456789abcdef/none.jpg').replace(/thumb\/./, 'thumb/!'),
    ]) {
      const answer = await api.call(path);
      expect([path, answer.status, answer.json.code]).toEqual([path, 403, 'forbidden']);
      expect(answer.headers.get('cache-control')).toBe('no-store');
    }
  });

  it('C20.4: a refusal names its reason: the signature, its order, its expiry, or the object', async () => {
    const encodedKey = Buffer.from(photo).toString('base64url');
    const [unsorted, missing] = ['w=10&f=webp', 'images/ab/nothing/0123456789abcdef/none.jpg'];
    const signature = createHmac('sha256', secret).update(`/${encodedKey}?${unsorted}`).digest('base64url');
    const details = [
      [
        sign(photo, { w: 10 }).replace('w=10', 'w=11'),
        'The signature does not hold for this address; sign its key and its whole query with THUMB_SECRET.',
      ],
      [
        sign(photo, { exp: 1_000_000_000 }),
        'The address expired at 2001-09-09T01:46:40.000Z; sign it with a later exp.',
      ],
      [sign(missing), 'There is no image with this key. Take the key from the results of its job.'],
      [
        `/thumb/${signature}/${encodedKey}?${unsorted}`,
        'The signature covers the query as it is written; sign its names in alphabetical order.',
      ],
    ];
    for (const [path = '', detail] of details) expect((await api.call(path)).json.detail).toBe(detail);
  });

  it('C20.11: an image is answered alike by the framework and from memory before it', async () => {
    for (const query of [{ w: 31 }, { w: 32, exp: Math.floor(Date.now() / 1000) + 600 }]) {
      const answers = [await api.raw(sign(photo, query)), await api.raw(sign(photo, query))];
      const [first, second] = answers.map(({ headers, bytes }) => {
        const kept = [...headers].filter(([name]) => !['date', 'x-trace-id'].includes(name));
        return { bytes: bytes.length, ...Object.fromEntries(kept), 'cache-control': kept.length };
      });
      expect(second).toEqual(first);
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    }
  });

  it('C20.4: an address in memory is refused once it has expired', async () => {
    const path = sign(photo, { w: 34, exp: Math.floor(Date.now() / 1000) + 2 });
    for (let n = 0; n < 2; n++) expect((await api.raw(path)).status).toBe(200);
    await expect.poll(async () => (await api.raw(path)).status, { timeout: 6_000, interval: 300 }).toBe(403);
  });

  it('C20.6: an image address in another spelling is sent to the signed one or refused', async () => {
    const path = sign(photo, { w: 10, f: 'webp' });
    const moved = await api.raw(path.replace('?f=webp&w=10', '?w=10&f=webp'));
    expect([moved.status, moved.headers.get('location')]).toEqual([308, path]);
    expect((await api.raw(path.replace('w=10', 'w=%310'))).status).toBe(403);
    expect((await api.raw(path.replace('thumb', '%74humb'))).status).toBe(403);
    expect(
      (await api.raw(path.replace(/thumb\/./, (start) => `thumb/%${start.charCodeAt(6).toString(16)}`))).status,
    ).toBe(403);
  });

  it('C20.5: a missing object, and a key that is no image of the service, answer 404', async () => {
    await api.putMedia('videos/ab/clip/master.m3u8', '#EXTM3U');
    await api.putMedia(
      'work/secret.png',
      await sharp({ create: { width: 1, height: 1, channels: 3, background: 'red' } })
        .png()
        .toBuffer(),
    );
    for (const key of ['images/ab/none/0123456789abcdef/none.jpg', 'videos/ab/clip/master.m3u8', 'work/secret.png'])
      expect([key, (await api.call(sign(key))).status]).toEqual([key, 404]);
  });

  it('C22.19: an object that is no image answers 422, and the server goes on', async () => {
    expect((await api.call(sign(broken, { w: 10 }))).status).toBe(422);
    expect((await api.call(sign(photo, { w: 33 }))).status).toBe(200);
  });

  it('C22.19: signed options that are not valid answer 400 and name the fault', async () => {
    const { status, json } = await api.call(sign(photo, { w: 5000 }));
    expect([status, json.errors]).toMatchObject([400, [{ pointer: '/w' }]]);
  });

  it('C20.9: an image without exp may be cached for a year, one with exp until then', async () => {
    const forever = await api.call(sign(photo, { w: 20 }));
    expect(forever.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    const { headers } = await api.call(sign(photo, { w: 20, exp: Math.floor(Date.now() / 1000) + 60 }));
    expect(Number(/^public, max-age=(\d+)$/.exec(headers.get('cache-control') ?? '')?.[1])).toBeGreaterThan(50);
  });

  it('C20.1, C20.12: HEAD of an image has headers and no body, and its ETag answers 304', async () => {
    const path = sign(photo, { w: 21 });
    const whole = await api.call(path);
    const head = await api.call(path, { method: 'HEAD' });
    expect([head.status, head.bytes.length]).toEqual([200, 0]);
    expect(head.headers.get('content-length')).toBe(String(whole.bytes.length));
    const again = await api.call(path, { headers: { 'if-none-match': whole.headers.get('etag') ?? '' } });
    expect([again.status, again.bytes.length]).toEqual([304, 0]);
  });

  it('C20.15: an image does not wait for the many of another address, which were asked for before', async () => {
    const noise = { type: 'gaussian', mean: 128, sigma: 60 } as const;
    const large = { create: { width: 1024, height: 1024, channels: 3, background: '#888888', noise } } as const;
    const source = 'images/ab/photo/0123456789abcdef/noise.png';
    await api.putMedia(source, await sharp(large).png().toBuffer());
    const ask = async (localAddress: string, path: string) => {
      const asked = get(`${api.url}${path}`, { localAddress, headers: { range: 'bytes=0-' } });
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      await once(response.resume(), 'end');
      return response.statusCode;
    };
    // A range, which has no fast path.
    await ask('127.0.0.1', '/stream/none/master.m3u8');
    const before = await misses();
    const many = availableParallelism() + 1;
    const ends: string[] = [];
    const others = Array.from({ length: many }, (_, n) =>
      ask('127.0.0.2', sign(source, { w: 700 + n, f: 'avif' })).then((status) => ends.push(`many ${status}`)),
    );
    await expect.poll(misses).toBe(before + many);
    await ask('127.0.0.1', sign(drawing, { w: 33 })).then((status) => ends.push(`one ${status}`));
    expect(ends[0]).toBe('one 200');
    await Promise.all(others);
    expect(ends.slice(1)).toEqual(Array(many).fill('many 200'));
  });

  it('C20.11: an image is looked for in memory, then in the bucket, then made, and once for many requests', async () => {
    const path = sign(photo, { w: 77, f: 'webp' });
    const before = { misses: await misses(), results: await resultsOf(api) };
    const answers = await Promise.all(Array.from({ length: 20 }, () => api.call(path)));
    expect(new Set(answers.map(({ bytes }) => bytes.toString('base64'))).size).toBe(1);
    expect((await misses()) - before.misses).toBe(1);
    const cached = async () => (await Array.fromAsync(api.d.media.list('cache/thumb/'))).length;
    await expect.poll(cached).toBeGreaterThan(0);
    await api.call(path);
    const after = await resultsOf(api);
    expect((after['memory_hit'] ?? 0) - (before.results['memory_hit'] ?? 0)).toBeGreaterThan(0);
    // A second process has nothing in memory, and yet makes nothing again.
    const other = await startApi({}, { media: api.d.media });
    try {
      const kept = await other.call(path);
      expect([kept.bytes.equals(answers[0]?.bytes ?? Buffer.alloc(0)), await resultsOf(other)]).toEqual([
        true,
        { bucket_hit: 1 },
      ]);
    } finally {
      await other.close();
    }
  });
});

async function resultsOf(server: ApiUnderTest): Promise<Record<string, number>> {
  const { text } = await server.call('/metrics');
  const lines = text.matchAll(/^svc_image_results_total\{result="(\w+)"\} (\d+)$/gm);
  return Object.fromEntries([...lines].map(([, result = '', count]) => [result, Number(count)]));
}
