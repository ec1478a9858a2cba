import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { changedSample, colourAt, runTool, sample } from '../../testing/media.ts';
import { withDolbyVision } from '../../testing/mp4-boxes.ts';
import { removeRigs, run, runnerRig } from '../../testing/runner.ts';
import { transcode } from '../../testing/transcode.ts';

// docs/reference/media.md, "Odd sources" and "Colour": protected files, animations and Dolby Vision.

afterAll(removeRigs);

async function problemOf(source: string | { content: Buffer }) {
  const rig = await runnerRig('video:transcode', source);
  const { error } = await run(rig, ['all']);
  return [error?.code, error?.message];
}

/** An animated WebP of two frames. */
async function animation(width: number, height: number): Promise<Buffer> {
  const frame = (value: number) =>
    sharp({ create: { width, height, channels: 3, background: { r: value, g: 255 - value, b: 128 } } });
  const frames = await Promise.all([frame(0), frame(255)].map((image) => image.png().toBuffer()));
  return sharp(frames, { join: { animated: true } })
    .webp({ effort: 0 })
    .toBuffer();
}

describe('animations', () => {
  it('an animated WebP is a video source whose frames keep their times and colours', async () => {
    const colours = ['#f00', '#0f0', '#00f'];
    const frames = await Promise.all(
      colours.map((background) =>
        sharp({ create: { width: 64, height: 48, channels: 3, background } })
          .png()
          .toBuffer(),
      ),
    );
    const content = await sharp(frames, { join: { animated: true } })
      .webp({ lossless: true, delay: [200, 400, 600] })
      .toBuffer();
    const made = await transcode({ content });
    expect(made.results.source).toMatchObject({
      container: 'webp',
      size: content.length,
      duration_sec: 1.2,
      video: { codec: 'webp', width: 64, height: 48 },
    });
    for (const [sec, colour] of [
      [0.1, [255, 0, 0]],
      [0.3, [0, 255, 0]],
      [0.5, [0, 255, 0]],
      [0.7, [0, 0, 255]],
      [1.1, [0, 0, 255]],
    ] as const) {
      const found = await colourAt(made.path, '32:24:16:12', sec);
      for (const [index, value] of colour.entries())
        expect(Math.abs((found[index] ?? 0) - value), `${sec} s`).toBeLessThan(8);
    }
  });

  it('an animated WebP that is cut off is corrupt_input, and one with too many pixels limit_exceeded', async () => {
    const whole = await animation(64, 48);
    expect(await problemOf({ content: whole.subarray(0, -40) })).toEqual([
      'corrupt_input',
      'The animated WebP is damaged and cannot be decoded.',
    ]);
    const limits = '36 megapixels, 10000 frames or 400 megapixels in all';
    expect(await problemOf({ content: await animation(6200, 6000) })).toEqual([
      'limit_exceeded',
      `The animated WebP has more than ${limits}.`,
    ]);
  });
});

describe('Dolby Vision', () => {
  // A grey of 75 % of the HLG signal: reference white.
  const hlg =
    '-f lavfi -i nullsrc=s=320x180:r=25:d=1,format=yuv420p10le,geq=lum=721:cb=512:cr=512 -c:v libx265 -preset ultrafast ' +
    '-x265-params log-level=error:colorprim=bt2020:transfer=arib-std-b67:colormatrix=bt2020nc -color_primaries bt2020 ' +
    '-color_trc arib-std-b67 -colorspace bt2020nc -color_range tv -tag:v hvc1';

  it('profile 8.4 plays its HLG base layer', async () => {
    const source = await changedSample('dolby-84.mp4', await sample('hlg.mp4', hlg), (bytes) =>
      withDolbyVision(bytes, { profile: 8, compatibility: 4 }),
    );
    const shown = await runTool('ffprobe', ['-v', 'error', '-show_streams', source]);
    expect(shown).toContain('dv_profile=8');
    const made = await transcode(source);
    expect(made.results.source.video?.hdr).toBe('hlg');
    const [, white] = await colourAt(made.path, '64:64:64:64', 0.4);
    expect(white).toBeGreaterThan(0.85 * 255);
    expect(white).toBeLessThan(0.95 * 255);
  });

  it('profile 5 is refused, since it has no base layer', async () => {
    const source = await changedSample('dolby-5.mp4', await sample('hlg.mp4', hlg), (bytes) =>
      withDolbyVision(bytes, { profile: 5, compatibility: 0 }),
    );
    expect((await problemOf(source))[0]).toBe('unsupported_media');
  });
});
