import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobResults } from '#domain/job-types/index.ts';
import { mediaProfilesSchema, type NamedProfile } from '#domain/media/profiles.ts';
import { makeChunked } from '../../testing/chunked.ts';
import { colourAt, sample } from '../../testing/media.ts';
import { removeRigs, type RunnerRig, runnerRig, runToResult, wholeTrack } from '../../testing/runner.ts';

// The watermark of a profile, by decoded frames of every rung, in one piece and in chunks.

afterAll(removeRigs);

const position = 'top-right';
let profile: NamedProfile | null;

beforeAll(async () => {
  // The left half is opaque green, the right half transparent.
  const half = await sharp({ create: { width: 40, height: 40, channels: 4, background: '#00d000' } })
    .png()
    .toBuffer();
  const png = await sharp({ create: { width: 80, height: 40, channels: 4, background: '#00000000' } })
    .composite([{ input: half, left: 0, top: 0 }])
    .png()
    .toBuffer();
  const ladder = [
    { short_side: 90, bitrate: 400_000 },
    { short_side: 180, bitrate: 800_000 },
  ];
  const watermark = { png: png.toString('base64'), position, width: 0.25, margin: 0.1, opacity: 0.5 };
  profile = mediaProfilesSchema.parse({ profiles: { marked: { ladder, watermark } } }).byName.get('marked') ?? null;
});

/** Grey frames with noise, so that there is something to encode. */
const grey = (seconds: number, rate: string) =>
  `-f lavfi -i color=0x404040:s=320x180:r=${rate}:d=${seconds},noise=alls=6:allf=t -c:v libx264 -preset ultrafast -crf 12 -g 50 -pix_fmt yuv420p -vf scale=out_color_matrix=bt709 -colorspace bt709`;

/** Half green and half grey: by the matrix of BT.601, the green would be 16 darker. */
const mixed = [32, 136, 32] as const;
const background = [64, 64, 64] as const;

async function expectMark(rig: RunnerRig, results: JobResults<'video:transcode'>, timesSec: readonly number[]) {
  expect(results.video_tracks.length).toBeGreaterThan(0);
  for (const track of results.video_tracks) {
    const path = await wholeTrack(rig, track);
    const at = async (fromLeft: number, timeSec: number) => {
      // The mark is a quarter of the width, and begins a tenth of the height from the top and the right.
      const unit = track.width / 320;
      const crop = [12, 12, 222 + fromLeft, 18 + 14].map((value) => Math.round(value * unit)).join(':');
      return await colourAt(path, crop, timeSec);
    };
    for (const timeSec of timesSec) {
      const [marked, beside, before] = [await at(14, timeSec), await at(54, timeSec), await at(-30, timeSec)];
      for (const [index, value] of mixed.entries()) expect(Math.abs((marked[index] ?? 0) - value)).toBeLessThan(8);
      for (const found of [beside, before])
        for (const [index, value] of background.entries())
          expect(Math.abs((found[index] ?? 0) - value)).toBeLessThan(10);
    }
  }
}

describe('a watermark', () => {
  it('C16.14: the watermark is on the first and the last frame of every rung, in its colours and with its opacity', async () => {
    const rig = await runnerRig('video:transcode', await sample('grey.mp4', grey(3, '25')), {}, profile);
    const { results } = await runToResult(rig);
    expect(results.video_tracks.map(({ height }) => height).toSorted((a, b) => a - b)).toEqual([90, 180]);
    await expectMark(rig, results, [0, 2.96]);
  });

  it('C16.14: the watermark is on the frames of every chunk of a video', async () => {
    const {
      rig,
      results,
      split: plan,
    } = await makeChunked(await sample('grey-long.mkv', grey(20, '30000/1001')), { profile });
    expect(plan.chunk_frames.length).toBeGreaterThan(1);
    await expectMark(rig, results, [0, 5.9, 6.1, 12.1, 19.9]);
  });
});
