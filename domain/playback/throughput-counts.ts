// Measured throughputs as counts of ranges, which are added where several processes count. A range ends at 2^(1/3), 26 %,
// above its start, so a median is within 13 % of the true one.

const lowestKbps = 64;
const stepsPerOctave = 3;
/** The last one begins at 3.3 Gb/s. */
export const throughputRanges = 48;

/** The range of a throughput, from 0. */
export function throughputRange(kbps: number): number {
  const range = Math.floor(Math.log2(Math.max(kbps, lowestKbps) / lowestKbps) * stepsPerOctave);
  return Math.min(throughputRanges - 1, range);
}

/** The median of counted throughputs in kb/s, the middle of its range; null without any. */
export function medianThroughputKbps(counts: readonly number[]): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let below = 0;
  const range = counts.findIndex((count) => (below += count) * 2 >= total);
  return Math.round(lowestKbps * 2 ** ((range + 0.5) / stepsPerOctave));
}
