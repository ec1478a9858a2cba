import { expect, it } from 'vitest';
import type { JobResults } from './index.ts';
import { mediaTimeOf } from './media-time.ts';

const [track, nothing] = [{}, null];

it.each([
  { of: 'nothing', results: nothing, time: nothing },
  { of: 'an image', results: { key: 'k', outputs: [] }, time: nothing },
  { of: 'a stream that failed', results: { stages: {}, artifacts: {} }, time: nothing },
  {
    of: 'a stream of two renditions',
    results: { source: { duration_sec: 9.5 }, video_tracks: [track, track] },
    time: { sourceMs: 9_500, outputMs: 19_000 },
  },
  {
    of: 'a stream of audio',
    results: { source: { duration_sec: 3 }, video_tracks: [] },
    time: { sourceMs: 3_000, outputMs: 3_000 },
  },
])('the time of $of', ({ results, time }) => {
  expect(mediaTimeOf(results as JobResults | null)).toEqual(time);
});
