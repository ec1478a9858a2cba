import { expect, it } from 'vitest';
import { medianThroughputKbps, throughputRange, throughputRanges } from './throughput-counts.ts';

const countsOf = (throughputs: readonly number[]) => {
  const counts = Array.from({ length: throughputRanges }, () => 0);
  for (const kbps of throughputs) counts[throughputRange(kbps)] = (counts[throughputRange(kbps)] ?? 0) + 1;
  return counts;
};

it.each([
  [[5_000], 5_000],
  [[100, 25_400, 900_000], 25_400],
  [[3_000, 3_000, 3_000, 80_000], 3_000],
  [Array.from({ length: 1_001 }, (_, n) => 1_000 + n * 10), 6_000],
])('the median of measured throughputs is within 13 %% of the true one', (throughputs, median) => {
  expect(Math.abs((medianThroughputKbps(countsOf(throughputs)) ?? 0) / median - 1)).toBeLessThan(0.13);
});

it('there is no median of nothing', () => {
  expect(medianThroughputKbps(countsOf([]))).toBeNull();
});

it.each([
  [0, 0],
  [64, 0],
  [1e9, throughputRanges - 1],
])('%d kb/s lies in range %i', (kbps, range) => {
  expect(throughputRange(kbps)).toBe(range);
});
