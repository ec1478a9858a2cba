import sharp, { type Sharp } from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signThumbPath, thumbSecretsOf } from '#domain/playback/thumb.ts';
import { type Answer, type ApiUnderTest, keyTokenSecret, startApi } from './api-under-test.ts';

// docs/reference/contract.md, "Images": what `/thumb` does to an image besides its size. Pixels are compared with those
// of a plan drawn by the test, and with what sharp makes of the same file.

const [secret = ''] = thumbSecretsOf([], keyTokenSecret);
const folder = 'images/ab/photo/0123456789abcdef';
const bands = `${folder}/bands.png`;
const onItsSide = `${folder}/on-its-side.jpg`;
const spot = `${folder}/spot.png`;
const framed = `${folder}/framed.png`;
const glass = `${folder}/glass.png`;
const moving = 'videos/ab/clip/0123456789abcdef/preview.webp';
const [red, green, blue, white, gray] = ['#ff0000', '#00ff00', '#0000ff', '#ffffff', '#808080'];

let api: ApiUnderTest;
let spotPng: Buffer;

const plain = (background: string, width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background } });
/** Areas of one colour each on a ground. */
async function drawn(ground: Sharp, areas: readonly (readonly [string, number, number, number, number])[]) {
  const layers = areas.map(async ([colour, left, top, width, height]) => ({
    input: await plain(colour, width, height).png().toBuffer(),
    left,
    top,
  }));
  return sharp(
    await ground
      .composite(await Promise.all(layers))
      .png()
      .toBuffer(),
  );
}

beforeAll(async () => {
  api = await startApi({ thumbPresets: new Map([['square', { w: '48', h: '48', fit: 'cover', f: 'png' }]]) });
  const threeBands = async () =>
    drawn(plain(red, 300, 100), [
      [green, 100, 0, 100, 100],
      [blue, 200, 0, 100, 100],
    ]);
  await api.putMedia(bands, await (await threeBands()).removeAlpha().png().toBuffer());
  // Shown as 100 × 300, red above and blue below.
  const turned = (await threeBands()).removeAlpha().withMetadata({ orientation: 6 });
  await api.putMedia(onItsSide, await turned.jpeg({ quality: 100, chromaSubsampling: '4:4:4' }).toBuffer());
  const noise = { type: 'gaussian', mean: 128, sigma: 80 } as const;
  const patch = await sharp({ create: { width: 80, height: 80, channels: 3, background: gray, noise } })
    .png()
    .toBuffer();
  spotPng = await plain(gray, 600, 100)
    .composite([{ input: patch, left: 500, top: 10 }])
    .removeAlpha()
    .png()
    .toBuffer();
  await api.putMedia(spot, spotPng);
  // A white mark within a nearly black margin, 20 pixels wide on the left and 60 on the right.
  const onBlack = drawn(plain('#000000', 200, 80), [
    ['#080808', 0, 0, 200, 10],
    [white, 20, 30, 120, 20],
  ]);
  await api.putMedia(framed, await (await onBlack).removeAlpha().png().toBuffer());
  const clear = { create: { width: 40, height: 20, channels: 4, background: { r: 0, g: 0, b: 0, alpha: 0 } } } as const;
  await api.putMedia(glass, await sharp(clear).png().toBuffer());
  const frames = await Promise.all([red, green].map((colour) => plain(colour, 40, 20).png().toBuffer()));
  await api.putMedia(
    moving,
    await sharp(frames, { join: { animated: true } })
      .webp({ delay: [90, 90] })
      .toBuffer(),
  );
});
afterAll(() => api.close());

const show = (key: string, query: Record<string, string | number>) =>
  api.call(signThumbPath(key, { f: 'png', ...query }, secret));

async function pixels(answer: Answer) {
  expect([answer.status, answer.status === 200 ? '' : answer.text]).toEqual([200, '']);
  const { data, info } = await sharp(answer.bytes).raw().toBuffer({ resolveWithObject: true });
  const at = (x: number, y: number) => {
    const start = (y * info.width + x) * info.channels;
    return `#${data.subarray(start, start + 3).toString('hex')}`;
  };
  return { size: `${info.width}x${info.height}`, channels: info.channels, data, at };
}

/** The named colour that a pixel is next to. */
const near = (pixel: string) =>
  [red, green, blue, white].find((colour) =>
    [1, 3, 5].every(
      (at) => Math.abs(parseInt(pixel.slice(at, at + 2), 16) - parseInt(colour.slice(at, at + 2), 16)) < 12,
    ),
  ) ?? pixel;

describe('the options of an image', () => {
  it.each([
    ['center', green],
    ['north', green],
    ['west', red],
    ['southwest', red],
    ['east', blue],
    ['northeast', blue],
  ])('C20.16: `gravity=%s` with fit=cover keeps that side', async (gravity, colour) => {
    const { size, at } = await pixels(await show(bands, { w: 50, h: 50, fit: 'cover', gravity }));
    expect([size, ...[2, 25, 47].map((x) => near(at(x, 25)))]).toEqual(['50x50', colour, colour, colour]);
  });

  it.each(['attention', 'entropy'])(
    'C20.16: `gravity=%s` keeps where the detail is, as sharp does',
    async (gravity) => {
      const { data, size } = await pixels(await show(spot, { w: 100, h: 100, fit: 'cover', gravity }));
      const resized = sharp(spotPng).resize({ width: 100, height: 100, fit: 'cover', position: gravity });
      const { data: raw } = await resized.toColourspace('srgb').raw().toBuffer({ resolveWithObject: true });
      expect([size, data.equals(raw)]).toEqual(['100x100', true]);
      // The middle, which is what is kept without it, is gray.
      expect(data.every((value) => value === 128)).toBe(false);
      const center = await pixels(await show(spot, { w: 100, h: 100, fit: 'cover' }));
      expect(center.data.every((value) => value === 128)).toBe(true);
    },
  );

  it('C20.16: `crop` shows a part of the image, and what of it is inside', async () => {
    const part = await pixels(await show(bands, { crop: '90-10-20-40' }));
    expect([part.size, part.at(9, 0), part.at(10, 39)]).toEqual(['20x40', red, green]);
    expect((await pixels(await show(bands, { crop: '290-90-500-500' }))).size).toBe('10x10');
    const resized = await pixels(await show(bands, { crop: '200-0-100-100', w: 10 }));
    expect([resized.size, resized.at(5, 5)]).toEqual(['10x10', blue]);
  });

  it('C20.16: `trim` cuts off margins, after `rotate` and before the size, and leaves an image of one colour', async () => {
    const trimmed = await pixels(await show(framed, { trim: 10 }));
    expect([trimmed.size, trimmed.at(0, 0), trimmed.at(119, 19)]).toEqual(['120x20', white, white]);
    expect((await pixels(await show(framed, { trim: 1 }))).size).toBe('200x70');
    expect((await pixels(await show(framed, { trim: 10, rotate: 90, h: 60 }))).size).toBe('10x60');
    expect((await pixels(await show(glass, { trim: 10 }))).size).toBe('40x20');
  });

  it.each([
    [90, '100x300', red, blue],
    [180, '300x100', blue, red],
    [270, '100x300', blue, red],
  ])('C20.16: `rotate=%i` turns the image clockwise', async (rotate, size, first, last) => {
    const made = await pixels(await show(bands, { rotate }));
    const [width = 0, height = 0] = size.split('x').map(Number);
    expect([made.size, made.at(5, 5), made.at(width - 5, height - 5)]).toEqual([size, first, last]);
  });

  it('C20.16: an image that is upright by its EXIF data is turned from there, and cut after that', async () => {
    const turned = await pixels(await show(onItsSide, { rotate: 90 }));
    expect([turned.size, near(turned.at(5, 50)), near(turned.at(295, 50))]).toEqual(['300x100', blue, red]);
    const upright = await pixels(await show(onItsSide, { crop: '0-210-100-80', w: 50 }));
    expect([upright.size, near(upright.at(25, 20))]).toEqual(['50x40', blue]);
    const both = await pixels(await show(onItsSide, { rotate: 90, crop: '210-0-80-100', w: 40, h: 50 }));
    expect([both.size, near(both.at(20, 25))]).toEqual(['40x50', red]);
  });

  it('C20.16: `background` fills margins and what is transparent', async () => {
    const padded = await pixels(await show(bands, { w: 100, h: 100, fit: 'contain', background: '0000FF' }));
    expect([padded.size, padded.channels, padded.at(50, 2), padded.at(10, 50)]).toEqual(['100x100', 3, blue, red]);
    const filled = await pixels(await show(glass, { background: 'ff0000' }));
    expect([filled.size, filled.at(20, 10)]).toEqual(['40x20', red]);
    const jpeg = await pixels(await show(glass, { background: '00ff00', f: 'jpg' }));
    expect(near(jpeg.at(20, 10))).toBe(green);
    expect(near((await pixels(await show(glass, { f: 'jpg' }))).at(20, 10))).toBe(white);
  });

  it.each([
    [{ blur: 4 }, (image: Sharp) => image.blur(4)],
    [{ sharpen: 2 }, (image: Sharp) => image.sharpen({ sigma: 2 })],
  ])('C20.16: %j is what sharp makes', async (options, change) => {
    const made = await pixels(await show(spot, { w: 300, ...options }));
    const raw = await change(sharp(spotPng).resize({ width: 300 }).toColourspace('srgb'))
      .raw()
      .toBuffer();
    expect(made.data.equals(raw)).toBe(true);
    expect(made.data.equals((await pixels(await show(spot, { w: 300 }))).data)).toBe(false);
  });

  it('C20.16: `dpr` multiplies the size, and enlarges nothing', async () => {
    expect((await pixels(await show(bands, { w: 50, dpr: 2 }))).size).toBe('100x33');
    expect((await pixels(await show(bands, { w: 200, dpr: 3 }))).size).toBe('300x100');
  });

  it.each([
    [bands, { rotate: 45 }, 'rotate', 'rotate must be one of 0, 90, 180, 270.'],
    [bands, { blur: 101 }, 'blur', 'blur must be a number from 0.3 to 100.'],
    [bands, { w: 3000, dpr: 2 }, 'dpr', 'dpr must leave w × dpr at most 4096, not 3000 × 2.'],
    [bands, { crop: '300-0-10-10' }, 'crop', 'crop begins outside of the image, which is 300 × 100.'],
    [bands, { crop: '100-0-10-10', rotate: 90 }, 'crop', 'crop begins outside of the image, which is 100 × 300.'],
    [moving, { rotate: 90, f: 'webp' }, 'rotate', 'rotate does not fit an animation; f=png shows its first frame.'],
    [
      bands,
      { trim: 10, crop: '0-0-9-9' },
      'trim',
      'trim must come without crop, whose pixels are those of the whole image.',
    ],
    [moving, { trim: 10, f: 'webp' }, 'trim', 'trim does not fit an animation; f=png shows its first frame.'],
    [bands, { preset: 'card' }, 'preset', 'preset must be a preset of this server: it has square.'],
  ])('C20.17: of %s, %j is refused by the fault of %s', async (key, query, name, detail) => {
    const answer = await show(key, query);
    expect([answer.status, answer.json.detail, answer.json.errors]).toMatchObject([
      400,
      detail,
      [{ pointer: `/${name}` }],
    ]);
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  it('C20.16, C20.13: an animation is cut by a side and by `crop` in all its frames', async () => {
    const made = await show(moving, { f: 'webp', w: 10, h: 10, fit: 'cover', gravity: 'west', crop: '0-0-30-20' });
    expect(await sharp(made.bytes, { animated: true }).metadata()).toMatchObject({
      width: 10,
      pages: 2,
      pageHeight: 10,
    });
    expect((await pixels(await show(moving, { rotate: 90 }))).size).toBe('20x40');
  });

  it('C20.18, C20.19: a preset is made once with its options written out, and cached for five minutes', async () => {
    const counts = async () => Number(/result="processed"\} (\d+)/.exec((await api.call('/metrics')).text)?.[1] ?? 0);
    const before = await counts();
    const answers = [
      await show(bands, { preset: 'square' }),
      await show(bands, { preset: 'square' }),
      await show(bands, { w: 48, h: 48, fit: 'cover' }),
      await show(bands, { w: 24, h: 24, dpr: 2, fit: 'cover', gravity: 'center' }),
    ];
    expect(new Set(answers.map(({ headers }) => headers.get('etag'))).size).toBe(1);
    expect(answers.map(({ headers }) => headers.get('cache-control'))).toEqual([
      'public, max-age=300',
      'public, max-age=300',
      'public, max-age=31536000, immutable',
      'public, max-age=31536000, immutable',
    ]);
    expect((await counts()) - before).toBe(1);
    // The second answer of an address comes from before the framework, with the same headers.
    const again = await api.raw(signThumbPath(bands, { f: 'png', preset: 'square' }, secret));
    expect(again.headers.get('cache-control')).toBe('public, max-age=300');
  });
});
