import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StepContext } from '../../runner/context/step-context.ts';
import { makeThumbnails } from '../../runner/handlers/image-thumbnail/make-thumbnails.ts';
import { createReporter } from '../../runner/reports/reporter.ts';
import { heic } from '../../testing/heif.ts';
import { colours, corpus, type CorpusImage } from '../../testing/image-corpus.ts';
import { tiff } from '../../testing/tiff.ts';

// Every kind of still image through the thumbnails of image:thumbnail, judged by decoded pixels.
// docs/reference/media.md has the table.

const files = new Map<string, Buffer>();
let root = '';

beforeAll(async () => {
  await Promise.all(corpus.map(async ({ name, make }) => files.set(name, await make())));
  root = await mkdtemp(join(tmpdir(), 'reelwright-kinds-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function thumbnail(content: Buffer, timeMs?: number): Promise<string> {
  const folder = await mkdtemp(join(root, 'image-'));
  await mkdir(join(folder, 'made'));
  await writeFile(join(folder, 'source'), content);
  const context = {
    workspace: { root: folder, at: (file: string) => join(folder, file), packaged: 'packaged' },
    reporter: createReporter(() => {}),
    signal: new AbortController().signal,
  } satisfies Partial<StepContext>;
  await makeThumbnails([{ variant: 'same', width: 8192, format: 'png' }], context as unknown as StepContext, timeMs);
  return join(folder, 'made', 'same.png');
}

/** The largest difference of a channel from what the corpus expects, at the middle of each quarter. */
async function judge(path: string, { corners, tolerance, expected, alpha }: CorpusImage) {
  const { data, info } = await sharp(path).raw().toBuffer({ resolveWithObject: true });
  const found = corners.map((name, quarter) => {
    const [x, y] = [(quarter % 2) * 0.5 + 0.25, Math.floor(quarter / 2) * 0.5 + 0.25];
    const at = (Math.floor(y * info.height) * info.width + Math.floor(x * info.width)) * info.channels;
    const pixel = [...data.subarray(at, at + info.channels)];
    const wanted = [...(expected?.[name] ?? colours[name]), ...(info.channels === 4 ? [alpha ?? 255] : [])];
    const isRight =
      wanted.length === pixel.length && pixel.every((v, n) => Math.abs(v - (wanted[n] ?? 0)) <= tolerance);
    return isRight ? name : `${name} as ${pixel.join(',')}`;
  });
  return { found, width: info.width, height: info.height };
}

async function cut(name: string, share: number): Promise<Buffer> {
  const whole = files.get(name) ?? Buffer.alloc(0);
  return whole.subarray(0, whole.length * share);
}

/** The JPEG as if it had a frame of another coding. */
async function asFrame(marker: number, bits = 8): Promise<Buffer> {
  const changed = Buffer.from(files.get('JPEG') ?? Buffer.alloc(0));
  const at = changed.indexOf(Buffer.from([0xff, 0xc0]));
  changed[at + 1] = marker;
  changed[at + 4] = bits;
  return changed;
}

describe('the kinds of still images', () => {
  it('outputs that take longer than an image job may are refused, and the job says how many were made', async () => {
    const message = '0 of 1 outputs were made in the time of an image job';
    const image = files.get(corpus[0]?.name ?? '') ?? Buffer.alloc(0);
    await expect(thumbnail(image, -1)).rejects.toMatchObject({
      code: 'limit_exceeded',
      message: expect.stringContaining(message),
    });
  });

  it.each(corpus)('C15.3: $name has its colours and its orientation in a thumbnail', async (image) => {
    const { corners, width, height } = image;
    const path = await thumbnail(files.get(image.name) ?? Buffer.alloc(0));
    expect(await judge(path, image)).toEqual({ found: corners, width, height });
  });

  const page = { width: 8, height: 8, samples: Buffer.alloc(192), photometric: 2 } as const;
  const refused: readonly (readonly [string, () => Promise<Buffer>, string, RegExp])[] = [
    ['SVG', async () => Buffer.from('<?xml version="1.0"?><svg/>'), 'unsupported_media', /: svg\.$/],
    ['a DNG', async () => tiff({ ...page, tags: { 50_706: 1 } }), 'unsupported_media', /: camera raw\.$/],
    [
      'a TIFF of floating-point numbers',
      async () => tiff({ ...page, tags: { 339: 3 } }),
      'unsupported_media',
      /: tiff with/,
    ],
    [
      'a TIFF in Zstandard',
      async () => tiff({ ...page, tags: { 259: 50_000 } }),
      'unsupported_media',
      /: tiff in a coding that is not known/,
    ],
    [
      'a JPEG of 12 bits a sample',
      () => asFrame(0xc1, 12),
      'unsupported_media',
      /: jpeg in a coding that is not known/,
    ],
    ['a JPEG that is cut off', () => cut('JPEG', 0.9), 'corrupt_input', /damaged/],
    [
      'no image',
      async () => Buffer.from('plain text'),
      'unsupported_media',
      /not an image of a known kind: jpeg, png, webp, /,
    ],
    ['an empty file', async () => Buffer.alloc(0), 'unsupported_media', /is empty/],
    ['a HEIC that is cut off', () => cut('HEIC', 0.8), 'corrupt_input', /damaged/],
    ['a JPEG XL that is cut off', () => cut('JPEG XL', 0.3), 'corrupt_input', /damaged/],
    [
      'a TIFF of 400 megapixels',
      async () => tiff({ ...page, width: 20_000, height: 20_000 }),
      'limit_exceeded',
      /100 megapixels/,
    ],
  ];
  it.each(refused)('C15.3: %s is refused with its reason', async (_, make, code, message) => {
    await expect(thumbnail(await make())).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message) as string,
    });
  });

  it('C23.13: a HEIC that states 400 megapixels is refused before it is decoded', async () => {
    const small = await heic(sharp({ create: { width: 64, height: 64, channels: 3, background: '#888' } }));
    const at = small.lastIndexOf('ispe') + 8;
    for (const offset of [at, at + 4]) small.writeUInt32BE(20_000, offset);
    await expect(thumbnail(small)).rejects.toMatchObject({ code: 'limit_exceeded' });
  });
});
