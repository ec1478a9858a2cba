import { expect, it } from 'vitest';
import { defaultDocument, documentSchema } from './profiles.ts';
import { outlineStream } from './stream-outline.ts';

const source = { width: 1920, height: 1080, durationSec: 100, hdr: 'sdr' } as const;

it('an outline has the ladder for the source, with the bytes that each cap allows', () => {
  const { rungs, audio, bytesMax } = outlineStream(defaultDocument, source);
  expect(rungs.map(({ height, bytesMax: bytes }) => [height, bytes])).toEqual([
    [360, 9_125_000],
    [540, 25_000_000],
    [720, 56_250_000],
    [1080, 97_500_000],
  ]);
  expect(rungs.filter(({ isFirst }) => isFirst).map(({ height }) => height)).toEqual([540]);
  expect(audio).toEqual({ bitrate: 128_000, bytesMax: 1_600_000 });
  expect(bytesMax).toBe(9_125_000 + 25_000_000 + 56_250_000 + 97_500_000 + 1_600_000);
});

it('an outline enlarges no source, and has the rungs of every codec of the profile', () => {
  const portrait = { ...source, width: 480, height: 854 };
  expect(outlineStream(defaultDocument, portrait).rungs.map(({ width, height }) => [width, height])).toEqual([
    [360, 640],
    [480, 854],
  ]);
  const ladder = [
    { short_side: 540, bitrate: 2_000_000 },
    { codec: 'hevc', short_side: 1080, bitrate: 5_800_000 },
  ];
  const hdr = documentSchema.parse({ ladder, hdr: 'keep' });
  const { rungs } = outlineStream(hdr, { ...source, hdr: 'pq' });
  // The source exceeds its only H.264 rung, the largest of that codec.
  expect(rungs.map(({ codec, range, height }) => [codec, range, height])).toEqual([
    ['h264', 'sdr', 540],
    ['hevc', 'pq', 1080],
  ]);
});
