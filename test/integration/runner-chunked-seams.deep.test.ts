import { readFile } from 'node:fs/promises';
import { afterAll, expect, it } from 'vitest';
import { videoKey } from '#domain/media/object-keys.ts';
import { makeChunked } from '../../testing/chunked.ts';
import { runTool, sample } from '../../testing/media.ts';
import { removeRigs } from '../../testing/runner.ts';
import { barsPattern, bothWays, largest, likeness } from '../../testing/same-stream.ts';

// A chunked encode at its seams: how it looks, whether audio and video stay together, and the sheets of its storyboard.

afterAll(removeRigs);

const x264 = '-c:v libx264 -preset veryfast -crf 18 -pix_fmt yuv420p';
const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

it('a chunked encode looks as good as one piece, at its seams too', async () => {
  const source = await sample('long-seams.mp4', `${barsPattern('25')} ${x264} -g 50`);
  const { chunked, whole } = await bothWays(source);
  const ofChunks = await likeness(await largest(chunked), source);
  const ofWhole = await likeness(await largest(whole), source);
  expect(mean(ofChunks)).toBeGreaterThan(mean(ofWhole) - 0.1);
  const worse = ofWhole.map((db, frame) => db - (ofChunks[frame] ?? 0));
  expect(Math.max(...worse)).toBeLessThan(2);
});

it('a flash and its beep are within 40 ms of each other at the start, at each seam and at the end', async () => {
  const on = String.raw`lt(mod(t\,3)\,0.12)`;
  const flash = `-f lavfi -i color=black:s=192x108:r=25:d=20,drawbox=c=white:t=fill:enable=${on}`;
  const beep = String.raw`-f lavfi -i aevalsrc=if(${on}\,sin(6283*t)\,0):s=48000:d=20`;
  const source = await sample('long-flash.mp4', `${flash} ${beep} ${x264} -g 50 -c:a aac`);
  const { rig, split: plan } = await makeChunked(source);
  const master = rig.at(videoKey('clip-1', plan.rev, 'master.m3u8'));
  const flashes = await risesOf(master, '-map 0:v:0 -vf signalstats,metadata=print:file=-', 'signalstats.YAVG', 120);
  const level = '-map 0:a:0 -af asetnsamples=480,astats=metadata=1:reset=1,ametadata=print:file=-';
  const beeps = await risesOf(master, level, 'astats.Overall.RMS_level', -20);
  // ffmpeg counts from the audio's first packet, which comes before time 0.
  expect(flashes.map((at) => Number((at - (flashes[0] ?? 0)).toFixed(2)))).toEqual([0, 3, 6, 9, 12, 15, 18]);
  expect(beeps).toHaveLength(flashes.length);
  for (const [index, at] of beeps.entries()) expect(Math.abs(at - (flashes[index] ?? 0))).toBeLessThanOrEqual(0.04);
});

/** The times, in seconds, at which a measure of a stream rises over `level`. */
async function risesOf(stream: string, filter: string, measure: string, level: number): Promise<number[]> {
  const input = `-v error -allowed_extensions ALL -i ${stream}`;
  const printed = await runTool('ffmpeg', `${input} ${filter} -f null -`.split(' '));
  const rises: number[] = [];
  let [timeSec, isHigh] = [0, false];
  for (const line of printed.split('\n')) {
    timeSec = Number(/pts_time:([\d.]+)/.exec(line)?.[1] ?? timeSec);
    const value = line.startsWith(`lavfi.${measure}=`) ? Number(line.slice(line.indexOf('=') + 1)) : null;
    if (value === null) continue;
    if (value > level && !isHigh) rises.push(timeSec);
    isHigh = value > level;
  }
  return rises;
}

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
