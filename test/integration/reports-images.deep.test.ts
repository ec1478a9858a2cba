import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { openImage } from '#platform/images/open-image.ts';
import { tiff, type TiffPage } from '../../testing/tiff.ts';
import { removeRigs, run, runnerRig } from '../../testing/runner.ts';

// Images that users of other tools reported, decoded and compared.

afterAll(removeRigs);

/** A JPEG with a quality that leaves coded data of some length. */
async function jpeg(): Promise<Buffer> {
  const noise = sharp({
    create: {
      width: 160,
      height: 120,
      channels: 3,
      background: '#888',
      noise: { type: 'gaussian', mean: 128, sigma: 30 },
    },
  });
  return noise.jpeg({ quality: 90 }).toBuffer();
}

/** Puts bytes of no meaning before the scan. */
function withJunk(bytes: Buffer): Buffer {
  const scan = bytes.indexOf(Buffer.from([0xff, 0xda]));
  return Buffer.concat([bytes.subarray(0, scan), Buffer.alloc(9, 0x41), bytes.subarray(scan)]);
}

const same = { variant: 'same', width: 8192 } as const;

async function thumbnail(content: Buffer) {
  const rig = await runnerRig('image:thumbnail', { content }, { outputs: [{ ...same, format: 'png' }] });
  const { error } = await run(rig, ['all']);
  const manifest = await rig.manifest();
  if (manifest === null) return { code: error?.code };
  const { key, warnings } = manifest.results;
  return { pixels: await sharp(rig.at(key)).raw().toBuffer(), warnings: warnings?.map(({ code }) => code) };
}

describe('warnings of the JPEG decoder', () => {
  it('a JPEG with bytes of no meaning between its markers is the same image, with a warning', async () => {
    const clean = await jpeg();
    const made = await thumbnail(withJunk(clean));
    expect(made).toEqual({ pixels: (await thumbnail(clean)).pixels, warnings: ['odd_coding'] });
  });
});

describe('damaged TIFFs', () => {
  const [width, height] = [160, 600];
  const page: TiffPage = { width, height, samples: Buffer.alloc(width * height * 3, 99), photometric: 2 };

  it('C15.15: a TIFF without its last rows is shown, with a warning', async () => {
    const made = await thumbnail(tiff(page).subarray(0, -width * 3 * 3));
    expect(made.warnings).toEqual(['damaged_image']);
    expect(made.pixels?.[width * (height - 30) * 3]).toBe(99);
  });

  it('C15.15: a TIFF that lacks a tenth of its rows is damaged', async () => {
    expect(await thumbnail(tiff(page).subarray(0, (-width * height * 3) / 10))).toEqual({ code: 'corrupt_input' });
  });

  it('C15.15: a TIFF that is cut off in its second page shows its first one, with a warning', async () => {
    const whole = await thumbnail(tiff(page));
    const made = await thumbnail(tiff(page, page).subarray(0, tiff(page).length + 20));
    expect(made).toEqual({ pixels: whole.pixels, warnings: ['damaged_image'] });
  });
});

/** A frame of a GIF in one of two colors: each pixel is a code of three bits, after one that begins a new table. */
function gifFrame(left: number, top: number, of: readonly [number, number], colour: number): Buffer {
  const head = Buffer.from([0x2c, left, 0, top, 0, of[0], 0, of[1], 0, 0, 2]);
  const codes = Array.from({ length: of[0] * of[1] }, () => [4, colour]).flat();
  let bits = '';
  for (const code of [...codes, 5]) bits = code.toString(2).padStart(3, '0') + bits;
  const bytes = (bits.padStart(Math.ceil(bits.length / 8) * 8, '0').match(/.{8}/g) ?? []).toReversed();
  const data = Buffer.from(bytes.map((byte) => Number.parseInt(byte, 2)));
  const blocks = Array.from({ length: Math.ceil(data.length / 255) }, (_, index) => {
    const block = data.subarray(index * 255, (index + 1) * 255);
    return Buffer.concat([Buffer.from([block.length]), block]);
  });
  return Buffer.concat([head, ...blocks, Buffer.from([0])]);
}

describe('animated GIFs', () => {
  /** The first frame covers 24 x 20 in the middle of 64 x 48, the second all. */
  const gif = Buffer.concat([
    Buffer.from('GIF89a', 'latin1'),
    Buffer.from([64, 0, 48, 0, 0x80, 0, 0, 220, 20, 20, 20, 20, 220]),
    gifFrame(20, 14, [24, 20], 0),
    gifFrame(0, 0, [64, 48], 1),
    Buffer.from([0x3b]),
  ]);
  const [corner, middle] = [0, (24 * 64 + 32) * 4];

  it('C15.16: what the first frame of a GIF leaves free is transparent, and white in a JPEG', async () => {
    const { pixels = Buffer.alloc(0) } = await thumbnail(gif);
    expect(pixels).toHaveLength(64 * 48 * 4);
    expect([...pixels.subarray(corner, corner + 4)]).toEqual([0, 0, 0, 0]);
    expect([...pixels.subarray(middle, middle + 4)]).toEqual([220, 20, 20, 255]);
    const jpg = await runnerRig('image:thumbnail', { content: gif }, { outputs: [{ ...same, format: 'jpg' }] });
    await run(jpg, ['all']);
    const key = (await jpg.manifest())?.results.key ?? '';
    expect([...(await sharp(jpg.at(key)).raw().toBuffer()).subarray(0, 3)]).toEqual([255, 255, 255]);
  });

  it('an animation keeps its frames, transparent around the first', async () => {
    const opened = await openImage(gif, { pixelsMax: 1e6, timeoutMs: 60_000, waitingMax: 0, failOn: 'error' });
    expect(opened.frames).toBe(2);
    const { data, info } = await opened.read('all').raw().toBuffer({ resolveWithObject: true });
    expect([info.height, info.channels]).toEqual([96, 4]);
    expect([...data.subarray(0, 4), ...data.subarray(-4)]).toEqual([0, 0, 0, 0, 20, 20, 220, 255]);
  });
});
