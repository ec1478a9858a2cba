import { describe, expect, it } from 'vitest';
import { PacketTimeline } from './packet-timeline.ts';

function framesAt(...times: readonly number[]): PacketTimeline {
  const timeline = new PacketTimeline();
  for (const timeSec of times) timeline.addFrame(timeSec, 1);
  return timeline;
}

describe('the packets of a source', () => {
  it('frames add up to their number, the last beginning, the end and the longest frame', () => {
    expect(framesAt(0, 2, 6).totals()).toEqual({
      frames: 3,
      packets: 3,
      lastFrameSec: 6,
      framesEndSec: 7,
      longestFrameSec: 4,
      soundEndSec: 0,
      longestGapSec: 2,
    });
  });

  it('frames in decoding order are compared in presentation order', () => {
    expect(framesAt(0, 4, 2, 1, 3, 8, 6, 5, 7).totals()).toMatchObject({ lastFrameSec: 8, longestFrameSec: 1 });
  });

  it('a gap is a time without a picture and without sound', () => {
    const silent = framesAt(0, 100);
    expect(silent.totals().longestGapSec).toBe(98);
    const withSound = framesAt(0, 100);
    for (let timeSec = 0; timeSec < 100; timeSec += 0.5) withSound.addSound(timeSec, 0.5);
    expect(withSound.totals()).toMatchObject({ longestGapSec: 0, soundEndSec: 100, longestFrameSec: 100 });
  });

  it('a packet with a long duration does not hide a gap of more than 30 s', () => {
    const timeline = new PacketTimeline();
    timeline.addFrame(0, 5000);
    timeline.addFrame(5000, 0.04);
    timeline.addSound(5000, 9000);
    expect(timeline.totals()).toMatchObject({ longestGapSec: 4969, soundEndSec: 5030 });
  });

  it('times before the start and far past the end are counted without an error', () => {
    expect(framesAt(-3, 1e9).totals().longestGapSec).toBeGreaterThan(100_000);
  });
});
