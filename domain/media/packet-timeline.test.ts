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
      audioEndSec: 0,
      longestGapSec: 2,
    });
  });

  it.each([
    [32, 1],
    [33, 2],
  ])(
    'a frame stored after %i later ones leaves a longest frame of %i s, since at most 32 are put in order',
    (later, longest) => {
      const times = Array.from({ length: later }, (_, index) => index + 2);
      expect(framesAt(0, ...times, 1).totals().longestFrameSec).toBe(longest);
    },
  );

  it('the time before the first frame does not count as a frame', () => {
    expect(framesAt(5, 6).totals().longestFrameSec).toBe(1);
  });

  it('a gap is a time without video and without audio', () => {
    const silent = framesAt(0, 100);
    expect(silent.totals().longestGapSec).toBe(98);
    const withAudio = framesAt(0, 100);
    for (let timeSec = 0; timeSec < 100; timeSec += 0.5) withAudio.addAudio(timeSec, 0.5);
    expect(withAudio.totals()).toMatchObject({ longestGapSec: 0, audioEndSec: 100, longestFrameSec: 100 });
  });

  it('a packet with a long duration does not hide a gap of more than 30 s', () => {
    const timeline = new PacketTimeline();
    timeline.addFrame(0, 5000);
    timeline.addFrame(5000, 0.04);
    timeline.addAudio(5000, 9000);
    expect(timeline.totals()).toMatchObject({ longestGapSec: 4969, audioEndSec: 5030 });
  });

  it('no frame is held for a duration that every frame states and none has', () => {
    const every40Ms = new PacketTimeline();
    for (let frame = 0; frame < 25; frame += 1) every40Ms.addFrame(frame / 25, 4);
    expect(every40Ms.totals().framesEndSec).toBeCloseTo(1);
    // Where the last frame alone is long, it is held for that time.
    const held = new PacketTimeline();
    for (let frame = 0; frame < 25; frame += 1) held.addFrame(frame / 25, frame === 24 ? 4 : 0.04);
    expect(held.totals().framesEndSec).toBeCloseTo(4.96);
  });
});
