import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decode } from 'blurhash';
import sharp, { type Sharp } from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { openObjectStore } from '#platform/storage/open.ts';
import { removeRigs, run, runnerRig } from '../../testing/runner.ts';

// image:thumbnail on the real sharp; all three steps in one process, as both executors run it.

afterAll(removeRigs);

type Colour = { r: number; g: number; b: number };
const red = { r: 220, g: 20, b: 20 };
const green = { r: 20, g: 200, b: 20 };
const blue = { r: 20, g: 20, b: 220 };
const white = { r: 250, g: 250, b: 250 };

/** Four quarters: red and green above, blue and white below. */
function quarters(width: number, height: number): Sharp {
  const quarter = (colour: Colour, left: number, top: number) => ({
    input: { create: { width: width / 2, height: height / 2, channels: 3 as const, background: colour } },
    left,
    top,
  });
  return sharp({ create: { width, height, channels: 3, background: red } }).composite([
    quarter(green, width / 2, 0),
    quarter(blue, 0, height / 2),
    quarter(white, width / 2, height / 2),
  ]);
}

/** The quarter that the colour at a place belongs to. */
async function colourOf(path: string, x: number, y: number): Promise<string> {
  const { data, info } = await sharp(path).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  const at = (Math.floor(y * info.height) * info.width + Math.floor(x * info.width)) * info.channels;
  const [r = 0, g = 0, b = 0] = data.subarray(at, at + 3);
  const named = { red, green, blue, white };
  const distance = (c: Colour) => Math.abs(c.r - r) + Math.abs(c.g - g) + Math.abs(c.b - b);
  const nearest = Object.entries(named).toSorted(([, c], [, d]) => distance(c) - distance(d))[0];
  return nearest !== undefined && distance(nearest[1]) < 60 ? nearest[0] : `${r},${g},${b}`;
}

const frame = (background: Colour) =>
  sharp({ create: { width: 64, height: 64, channels: 3, background } })
    .png()
    .toBuffer();

describe('image:thumbnail', () => {
  it('a thumbnail job without options writes one WebP with a width of 300', async () => {
    const rig = await runnerRig('image:thumbnail', { content: await quarters(800, 600).png().toBuffer() });
    expect(await run(rig, ['all'])).toMatchObject({ exitCode: 0, error: null });
    const manifest = await rig.manifest();
    const key = manifest?.results.key ?? '';
    expect(key).toMatch(/^images\/[0-9a-f]{2}\/clip-1\/[0-9a-f]{16}\/thumb\.webp$/);
    const { format, width, height, size } = await sharp(rig.at(key)).metadata();
    expect([format, width, height]).toEqual(['webp', 300, 225]);
    expect(manifest?.results.outputs).toEqual([
      { variant: 'thumb', key, width: 300, height: 225, format: 'webp', size: manifest?.objects[0]?.size },
    ]);
    expect(size ?? manifest?.objects[0]?.size).toBe(manifest?.objects[0]?.size);
  });

  it('C15.4: the BlurHash has the colours in their places, and the largest part has the dominant colour', async () => {
    const corner = { input: { create: { width: 200, height: 150, channels: 3 as const, background: green } } };
    const original = sharp({ create: { width: 400, height: 300, channels: 3, background: red } });
    const content = await original
      .composite([{ ...corner, left: 200, top: 0 }])
      .png()
      .toBuffer();
    const rig = await runnerRig('image:thumbnail', { content });
    await run(rig, ['all']);
    const { blurhash = '', dominant_color: dominant = '' } = (await rig.manifest())?.results ?? {};
    const shown = decode(blurhash, 4, 3);
    // The greenest of its 12 pixels is the corner at the right above.
    const greenness = Array.from({ length: 12 }, (_, n) => (shown[4 * n + 1] ?? 0) - (shown[4 * n] ?? 0));
    expect(greenness.indexOf(Math.max(...greenness))).toBe(3);
    const [r, g, b] = [1, 3, 5].map((index) => Number.parseInt(dominant.slice(index, index + 2), 16));
    expect(Math.max(Math.abs((r ?? 0) - red.r), Math.abs((g ?? 0) - red.g), Math.abs((b ?? 0) - red.b))).toBeLessThan(
      9,
    );
  });

  it('C15.2: a photo of EXIF orientation 6 is upright in every output, without metadata', async () => {
    // Stored on its side: the corner shown at the top left is stored at the bottom left.
    const place = 'A secret place';
    const content = await quarters(400, 300)
      .withExif({ IFD0: { Copyright: place }, IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 3230/100' } })
      .withMetadata({ orientation: 6 })
      .withXmp(`<x:xmpmeta xmlns:x="adobe:ns:meta/">${place}</x:xmpmeta>`)
      .withIccProfile('p3')
      .jpeg({ quality: 95 })
      .toBuffer();
    expect(content.toString('latin1').split(place).length).toBe(3);
    const outputs = [
      { variant: 'small', width: 60, format: 'avif' },
      { variant: 'large', width: 240, format: 'jpg' },
      { variant: 'middle', width: 120, format: 'png' },
      { variant: 'huge', width: 5000, format: 'webp' },
    ];
    const rig = await runnerRig('image:thumbnail', { content }, { outputs });
    await run(rig, ['all']);
    const made = (await rig.manifest())?.results.outputs ?? [];
    expect(made.map(({ variant, width, height }) => [variant, width, height])).toEqual([
      ['small', 60, 80],
      ['large', 240, 320],
      ['middle', 120, 160],
      // Never enlarged: upright the source is 300 wide.
      ['huge', 300, 400],
    ]);
    for (const { key, width, height } of made) {
      const metadata = await sharp(rig.at(key)).metadata();
      expect([metadata.width, metadata.height, metadata.orientation]).toEqual([width, height, undefined]);
      expect(metadata).not.toHaveProperty('exif');
      for (const kind of ['xmp', 'iptc', 'comments', 'tifftagPhotoshop']) expect(metadata).not.toHaveProperty(kind);
      expect(await readFile(rig.at(key), 'latin1')).not.toContain(place);
      const corners = [
        [0.2, 0.2],
        [0.8, 0.2],
        [0.2, 0.8],
        [0.8, 0.8],
      ] as const;
      const colours = [];
      for (const [x, y] of corners) colours.push(await colourOf(rig.at(key), x, y));
      expect(colours).toEqual(['blue', 'red', 'white', 'green']);
    }
  });

  it('a thumbnail is the first frame of an animation, and transparent pixels are white in a JPEG', async () => {
    const animation = await sharp([await frame(green), await frame(blue)], { join: { animated: true } })
      .gif()
      .toBuffer();
    const animated = await runnerRig('image:thumbnail', { content: animation });
    await run(animated, ['all']);
    expect(await colourOf(animated.at((await animated.manifest())?.results.key ?? ''), 0.5, 0.5)).toBe('green');

    const clear = { r: 0, g: 0, b: 0, alpha: 0 };
    const content = await sharp({ create: { width: 64, height: 64, channels: 4, background: clear } })
      .png()
      .toBuffer();
    const see = await runnerRig(
      'image:thumbnail',
      { content },
      { outputs: [{ variant: 'a', width: 64, format: 'jpg' }] },
    );
    await run(see, ['all']);
    expect(await colourOf(see.at((await see.manifest())?.results.key ?? ''), 0.5, 0.5)).toBe('white');
  });

  it.each([
    ['text', Buffer.from('not an image at all'), 'unsupported_media'],
    ['a JPEG that is cut off', null, 'corrupt_input'],
    ['a header alone', Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16]), 'corrupt_input'],
  ])('a thumbnail source that is %s is refused with its reason', async (_, given, code) => {
    const whole = await quarters(400, 300).jpeg().toBuffer();
    const rig = await runnerRig('image:thumbnail', { content: given ?? whole.subarray(0, whole.length / 2) });
    const outcome = await run(rig, ['all']);
    expect([outcome.exitCode, outcome.error?.code, outcome.error?.retryable]).toEqual([10, code, false]);
    expect(await rig.keys()).toEqual([]);
  });

  it('C23.13: an image of over 100 megapixels is refused before it is decoded', async () => {
    const background = { r: 0, g: 0, b: 0 };
    const content = await sharp({
      create: { width: 12_000, height: 9000, channels: 3, background },
      limitInputPixels: false,
    })
      .toColourspace('b-w')
      .png({ compressionLevel: 1 })
      .toBuffer();
    const rig = await runnerRig('image:thumbnail', { content });
    expect(await run(rig, ['all'])).toMatchObject({ exitCode: 10, error: { code: 'limit_exceeded' } });
  });

  it('C22.6: a missing source is source_not_found, and a changed one source_changed', async () => {
    const rig = await runnerRig('image:thumbnail', { content: await quarters(40, 30).png().toBuffer() });
    const changed = JSON.parse(rig.task) as { source: Record<string, unknown> };
    const fetched = (source: object) =>
      run({ ...rig, task: JSON.stringify({ ...changed, source: { ...changed.source, ...source } }) }, ['fetch']);
    expect(await fetched({ size: 3 })).toMatchObject({ exitCode: 10, error: { code: 'source_changed' } });
    // Another object of the same size: only its ETag differs.
    const path = join(rig.dir, 'source/clip');
    const { size } = await stat(path);
    const store = openObjectStore({ bucket: `file:${rig.dir}/source`, dir: join(rig.dir, 'source') });
    const etag = (await store.head('clip'))?.etag;
    expect(await fetched({ size, etag })).toMatchObject({ exitCode: 0 });
    await writeFile(path, Buffer.alloc(size, 1));
    expect(await fetched({ size, etag })).toMatchObject({ exitCode: 10, error: { code: 'source_changed' } });
    changed.source['key'] = 'elsewhere';
    expect(await run({ ...rig, task: JSON.stringify(changed) }, ['fetch'])).toMatchObject({
      exitCode: 10,
      error: { code: 'source_not_found' },
    });
  });
});
