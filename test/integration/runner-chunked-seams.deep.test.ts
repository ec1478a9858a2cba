import { readFile } from 'node:fs/promises';
import { afterAll, expect, it } from 'vitest';
import { videoKey } from '#domain/media/object-keys.ts';
import { sample } from '../../testing/media.ts';
import { removeRigs } from '../../testing/runner.ts';
import { bothWays, likeness } from '../../testing/same-stream.ts';

// A chunked encode at its seams: how it looks, whether audio and video stay together, and the sheets of its storyboard.

afterAll(removeRigs);

const x264 = '-c:v libx264 -preset veryfast -crf 18 -pix_fmt yuv420p';

it('the chunks of a video make the sheets of its storyboard, a minute each', async () => {
  const source = await sample('long-storyboard.mp4', `-f lavfi -i testsrc2=s=64x36:r=10:d=200 ${x264}`);
  const { chunked, whole } = await bothWays(source, { chunkSec: 60 });
  const names = ['playlist.m3u8', 'cues.vtt'].map((name) => `storyboard/${name}`);
  const textsOf = ({ rig, rev }: typeof whole) =>
    Promise.all(names.map((name) => readFile(rig.at(videoKey('clip-1', rev, name)), 'utf8')));
  expect(await textsOf(chunked)).toEqual(await textsOf(whole));
  for (const number of [1, 2, 3, 4]) {
    const sheet = `storyboard/sheet_${number}.jpg`;
    const [made, expected] = [
      chunked.rig.at(videoKey('clip-1', chunked.rev, sheet)),
      whole.rig.at(videoKey('clip-1', whole.rev, sheet)),
    ];
    expect(Math.min(...(await likeness(made, expected)))).toBeGreaterThan(30);
  }
});
