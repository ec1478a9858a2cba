/** A segment as written: its bytes, and its length in the playlist. */
export interface MeasuredSegment {
  readonly sizeBytes: number;
  readonly durationSec: number;
}

/** Bits a second, rounded up. */
export interface Bandwidth {
  readonly average: number;
  readonly peak: number;
}

/**
 * The measured bandwidth of a rendition. The peak is RFC 8216's "peak segment bit rate" (section 4.3.4.2): the largest
 * bit rate of any run of neighbouring segments that lasts between 0.5 and 1.5 times the target duration.
 */
export function bandwidthOf(segments: readonly MeasuredSegment[], targetDurationSec: number): Bandwidth {
  const average = bitrateOf(segments);
  let peak = 0;
  for (const first of segments.keys()) {
    for (let last = first; last < segments.length; last += 1) {
      const run = segments.slice(first, last + 1);
      const durationSec = run.reduce((sum, segment) => sum + segment.durationSec, 0);
      if (durationSec > 1.5 * targetDurationSec) break;
      if (durationSec >= 0.5 * targetDurationSec) peak = Math.max(peak, bitrateOf(run));
    }
  }
  return { average, peak: Math.max(peak, average) };
}

/** Apple's HLS Authoring Specification: the peak of a stream on demand is at most twice its average. */
const peakRatioMax = 2;

/** Whether the peak is so far over the average that a player, which chooses by one of them, may choose badly. */
export function isUneven({ average, peak }: Bandwidth): boolean {
  return peak > peakRatioMax * average;
}

function bitrateOf(segments: readonly MeasuredSegment[]): number {
  const bytes = segments.reduce((sum, segment) => sum + segment.sizeBytes, 0);
  const durationSec = segments.reduce((sum, segment) => sum + segment.durationSec, 0);
  return durationSec > 0 ? Math.ceil((bytes * 8) / durationSec) : 0;
}
