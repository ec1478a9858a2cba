import { describe, expect, it } from 'vitest';
import { audioSamplesFor, framesSec, gridOf, audioFramesFor, audioGridOf } from './grid.ts';
import { defaultEncoding } from './encoding-profile.ts';

const profile = defaultEncoding;

describe('the grid', () => {
  it.each([
    [{ num: 24_000, den: 1001 }, 48, 144, 6.006],
    [{ num: 25, den: 1 }, 50, 150, 6],
    [{ num: 30_000, den: 1001 }, 60, 180, 6.006],
    [{ num: 60, den: 1 }, 120, 360, 6],
    [{ num: 25, den: 2 }, 25, 75, 6],
    [{ num: 1, den: 10 }, 1, 3, 30],
  ])(
    'a grid at %o frames a second has GOPs of %i frames and segments of %i',
    (rate, gopFrames, segmentFrames, segmentSec) => {
      const grid = gridOf(rate, profile);
      expect(grid).toEqual({ rate, gopFrames, segmentFrames });
      expect(framesSec(segmentFrames, rate)).toBeCloseTo(segmentSec, 9);
    },
  );

  it.each([6, 12, 12.012, 13.5135, 0.04, 3600])('audio for %d s of video has that length, to a frame of AAC', (sec) => {
    const samples = audioSamplesFor(sec, 48_000);
    // The encoder adds a priming frame at the start; the last frame must begin before the video ends.
    const lastFrameBegins = samples / 48_000;
    expect(lastFrameBegins).toBeLessThan(Math.max(sec, 0.0214));
    expect(sec - samples / 48_000).toBeLessThan(1024 / 48_000 + 1e-9);
    expect(samples % 1024).toBe(0);
  });

  it('the grid of audio has segments of six seconds in whole frames of AAC', () => {
    const grid = audioGridOf(profile);
    expect(grid).toEqual({ rate: { num: 375, den: 8 }, gopFrames: 94, segmentFrames: 282 });
    expect(framesSec(grid.segmentFrames, grid.rate)).toBeCloseTo(6.016, 9);
  });

  it.each([0, 0.001, 1, 1024 / 48_000, 3, 3.02, 43_200])('a grid of audio holds the whole of %d s', (sec) => {
    const { rate } = audioGridOf(profile);
    const frames = audioFramesFor(sec, { rate });
    const samples = audioSamplesFor(framesSec(frames, rate), 48_000);
    expect(samples).toBe((frames - 1) * 1024);
    expect(samples / 48_000).toBeGreaterThan(sec - 1e-6);
    expect(samples / 48_000 - sec).toBeLessThan(1024 / 48_000 + 1e-6);
  });
});
