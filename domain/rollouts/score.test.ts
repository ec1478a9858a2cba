import { expect, it } from 'vitest';
import { scoreOf } from './score.ts';

const results = (...tracks: readonly (readonly [string, number] | null)[]) =>
  ({
    video_tracks: tracks.map((track) => (track === null ? {} : { quality: { measure: track[0], score: track[1] } })),
  }) as never;

it('the score of a stream is the mean of its rungs of one measure: SSIM and VMAF are not added', () => {
  expect(scoreOf(results(['vmaf', 90], ['vmaf', 80], null))).toEqual({ measure: 'vmaf', score: 85 });
  expect(scoreOf(results(['vmaf', 90], ['ssim', 0.98], ['vmaf', 80]))).toEqual({ measure: 'vmaf', score: 85 });
  expect([scoreOf(results(null)), scoreOf(null)]).toEqual([null, null]);
});
