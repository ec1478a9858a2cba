import { describe, expect, it } from 'vitest';
import { bandwidthOf, isUneven } from './bandwidth.ts';

describe('measured bandwidth', () => {
  it('the average bandwidth is bytes over time, rounded up', () => {
    expect(bandwidthOf([{ sizeBytes: 1000, durationSec: 3 }], 6)).toEqual({ average: 2667, peak: 2667 });
  });

  it('the peak bandwidth is measured over at least half a target duration (RFC 8216, section 4.3.4.2)', () => {
    const segments = [
      { sizeBytes: 750_000, durationSec: 6 },
      { sizeBytes: 1_500_000, durationSec: 6 },
      // Too short to be a peak by itself.
      { sizeBytes: 500_000, durationSec: 1 },
    ];
    expect(bandwidthOf(segments, 6)).toEqual({ average: 1_692_308, peak: 2_285_715 });
  });

  const still = [6, 0] as const;

  it.each([
    ['a run of half a target duration counts', 2_000_000, [[3, 750_000]]],
    ['a run of one and a half target durations counts', 2_400_000, [[1.5, 1_350_000], still, [1.5, 1_350_000]]],
    ['a longer run does not count', 2_500_000, [[2, 2_500_000], still, [2, 2_500_000]]],
  ] as const)('for the peak bandwidth %s', (_, peak, run) => {
    const segments = [...run, still, still, still, still].map(([durationSec, sizeBytes]) => ({
      durationSec,
      sizeBytes,
    }));
    expect(bandwidthOf(segments, 6).peak).toBe(peak);
  });

  it('the peak bandwidth is never below the average, and an empty playlist has a bandwidth of 0', () => {
    expect(bandwidthOf([{ sizeBytes: 10_000, durationSec: 0.2 }], 6)).toEqual({ average: 400_000, peak: 400_000 });
    expect(bandwidthOf([], 6)).toEqual({ average: 0, peak: 0 });
  });
});

it('a bandwidth is uneven when its peak is over twice its average', () => {
  expect([199, 200, 201].map((peak) => isUneven({ average: 100, peak }))).toEqual([false, false, true]);
});
