import { afterAll, expect, it } from 'vitest';
import { removeRigs } from '../../testing/runner.ts';
import { changedSample, sample } from '../../testing/media.ts';
import { refusal, transcode } from '../../testing/transcode.ts';

// Videos whose headers state what no video has: what is in the packets counts, or they are refused.

afterAll(removeRigs);

const x264 = '-c:v libx264 -preset ultrafast -pix_fmt yuv420p';
const short = () => sample('short-h.mp4', `-f lavfi -i testsrc2=s=64x64:r=25:d=1 ${x264}`);

/** An MP4 with other bytes behind the name of a box. */
const changed = async (name: string, box: string, at: number, value: readonly number[]) =>
  await changedSample(name, await short(), (bytes) => {
    const copy = Buffer.from(bytes);
    copy.set(value, copy.indexOf(box, 0, 'latin1') + 4 + at);
    return copy;
  });

const ones = [0xff, 0xff, 0xff, 0xff];

it.each([
  ['four thousand million samples', 'stsz', 8],
  ['four thousand million times', 'stts', 4],
  ['four thousand million places', 'stco', 4],
  ['samples outside of the file', 'stco', 8],
])('an MP4 that states %s is corrupt_input', async (_, box, at) => {
  const path = await changed(`hostile-${box}-${at}.mp4`, box, at, ones);
  expect(await refusal(path)).toEqual([10, 'corrupt_input', false]);
});

it.each([
  ['a frame of 65535 × 65535', 'avc1', 24, ones],
  ['a time scale of zero', 'mdhd', 12, [0, 0, 0, 0]],
])('an MP4 that states %s is taken as its frames are', async (_, box, at, value) => {
  const { stream, results } = await transcode(await changed(`hostile-${box}.mp4`, box, at, value));
  expect(stream).toMatchObject({ width: 64, height: 64 });
  expect(results.source.duration_sec).toBeLessThan(60);
});
