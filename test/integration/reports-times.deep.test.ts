import { afterAll, describe, expect, it } from 'vitest';
import { decodedFrames } from '../../testing/decoded-frames.ts';
import { useImageFfmpeg } from '../../testing/image-ffmpeg.ts';
import { sample } from '../../testing/media.ts';
import { removeRigs } from '../../testing/runner.ts';
import { transcode } from '../../testing/transcode.ts';

// Frame times of sources that users of other tools reported: which frame is shown where.

useImageFfmpeg();
afterAll(removeRigs);

/** Frames that bear their number in ten squares, black or white. */
const bits = 10;
const numbered = Array.from(
  { length: bits },
  (_, bit) => `drawbox=x=${bit * 32}:w=32:h=180:t=fill:c=white:enable=mod(floor(n/${2 ** bit})\\,2)`,
).join(',');

const clip = (name: string, rate: number, frames: number, times: string) =>
  sample(
    `${name}.mp4`,
    `-f lavfi -i color=black:s=320x180:r=${rate} -frames:v ${frames} -vf ${numbered},settb=1/90000,setpts=${times} -fps_mode passthrough -enc_time_base 1/90000 -video_track_timescale 90000 -c:v libx264 -preset ultrafast -g 60 -pix_fmt yuv420p`,
  );

/** The numbers that the frames of a video bear. */
async function numbersIn(path: string): Promise<number[]> {
  const { frames } = await decodedFrames(path);
  const [width, height] = [64, 36];
  return frames.map((frame) => {
    const levels = Array.from({ length: bits }, (_, bit) => {
      const x = Math.floor(((bit + 0.5) * width) / bits);
      return frame[((height / 2) * width + x) * 3] ?? 0;
    });
    return levels.reduce((number, level, bit) => number + (level > 128 ? 2 ** bit : 0), 0);
  });
}

describe('frames of phones, whose times scatter', () => {
  it.each([
    ['60', 60, 240, 'N*1500+round(650*sin(N*2.399))', '60/1', 0],
    ['29.83', 30, 240, 'N*3017+round(900*sin(N*2.399))', '30000/1001', 2],
    ['29.9', 30, 600, 'N*3010+round(250*sin(N*2.399))', '30000/1001', 2],
  ])('every frame of %s a second is shown once', async (name, rate, frames, times, expected, repeatedMax) => {
    const made = await transcode(await clip(`scatter-${name}`, rate, frames, times));
    const numbers = await numbersIn(made.path);
    const all = Array.from({ length: frames }, (_, number) => number);
    expect(numbers.toSorted((a, b) => a - b)).toEqual(numbers);
    expect([...new Set(numbers)]).toEqual(all);
    expect(numbers.length - frames).toBeLessThanOrEqual(repeatedMax);
    expect(made.stream.r_frame_rate).toBe(expected);
  });

  it('a video whose camera drops every fourth frame keeps the times of the others', async () => {
    const made = await transcode(await clip('dropped', 30, 120, 'floor(N*4/3)*3000'));
    const shown = Array.from({ length: 158 }, (_, frame) => Math.floor(((frame + 1) * 3 - 1) / 4));
    expect((await numbersIn(made.path)).slice(0, 158)).toEqual(shown);
  });
});
