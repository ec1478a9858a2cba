import { describe, expect, it } from 'vitest';
import { parseFfprobe } from './ffprobe-document.ts';
import { chooseVideo } from './video-choice.ts';

interface Candidate {
  readonly size?: readonly [number, number];
  readonly isDefault?: boolean;
  readonly frames?: number;
  readonly sec?: number;
}

function choose(candidates: readonly Candidate[], programs: readonly (readonly number[])[] = []) {
  const { streams, programs: parsed } = parseFfprobe(
    JSON.stringify({
      format: { format_name: 'mov' },
      streams: candidates.map(({ size: [width, height] = [320, 180], isDefault = true }, index) => ({
        index,
        codec_type: 'video',
        codec_name: 'h264',
        width,
        height,
        disposition: { default: isDefault ? 1 : 0 },
      })),
      programs: programs.map((indexes) => ({ streams: indexes.map((index) => ({ index })) })),
    }),
  );
  const extents = candidates.map(({ frames = 150, sec = 6 }, index) => [index, { frames, lengthSec: sec }] as const);
  const { video, warnings } = chooseVideo(streams, parsed, new Map(extents));
  return [video?.index, warnings.map(({ message }) => message)];
}

const leftOut = (taken: number, others: string, of = 2) => [
  expect.stringMatching(new RegExp(`^Of ${of} video streams, ${taken} .*left out: ${others}`)),
];

describe('the video to stream', () => {
  it.each<[string, Candidate[], number, string]>([
    ['an image before the video is left out', [{ frames: 1, sec: 0, size: [160, 90] }, {}], 1, '0 '],
    ['an image with more pixels is left out', [{}, { frames: 1, sec: 0, size: [4000, 3000] }], 0, '1 '],
    ['a title that ends long before the others is left out', [{ frames: 50, sec: 2 }, {}], 1, '0 '],
    ['the larger of two is taken', [{ size: [160, 90] }, {}], 1, '0 '],
    ['the marked of two is taken', [{ isDefault: false, size: [640, 360] }, {}], 1, '0 '],
    ['a marked image is left out all the same', [{ frames: 1, sec: 0 }, { isDefault: false }], 1, '0 '],
    ['the first of two equal ones is taken', [{}, {}], 0, '1 '],
  ])('%s, with a warning', (_, candidates, index, others) => {
    expect(choose(candidates)).toEqual([index, leftOut(index, others)]);
  });

  it('a single video is taken without a warning, whatever its length', () => {
    expect(choose([{ frames: 1, sec: 0 }])).toEqual([0, []]);
  });

  it('the first program of a broadcast is taken, and the videos of others need no warning', () => {
    expect(choose([{}, { size: [1920, 1080] }], [[0], [1]])).toEqual([0, []]);
  });
});
