import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
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

async function thumbnail(content: Buffer) {
  const rig = await runnerRig(
    'image:thumbnail',
    { content },
    { outputs: [{ variant: 'same', width: 8192, format: 'png' }] },
  );
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
