import { describe, expect, it } from 'vitest';
import type { PacketTotals } from '#domain/media/packet-timeline.ts';
import type { VideoSource } from '../../source/examine-video.ts';
import { checkFrames, planFrames, planSound } from './frame-span.ts';

const ten: PacketTotals = {
  frames: 250,
  packets: 250,
  lastFrameSec: 9.96,
  framesEndSec: 10,
  longestFrameSec: 0.04,
  soundEndSec: 0,
  longestGapSec: 0,
};
const sourceOf = (endSec: number, isDurationStated = true) => ({
  video: { endSec, rate: { num: 25, den: 1 } } as VideoSource['video'],
  isDurationStated,
});

describe('the frames of a stream', () => {
  it.each([
    ['a steady source has its own frames', sourceOf(10), ten, 250, 0],
    ['the last picture is held while the sound goes on', sourceOf(10), { ...ten, soundEndSec: 12 }, 300, 50],
    ['sound that is hardly longer holds nothing', sourceOf(10), { ...ten, soundEndSec: 10.08 }, 250, 0],
    ['the last picture is held for the duration of its packet', sourceOf(15), { ...ten, framesEndSec: 15 }, 375, 125],
    [
      'the last picture is held to the stated end when earlier ones lasted as long',
      sourceOf(15),
      { ...ten, framesEndSec: 9.96, longestFrameSec: 4 },
      375,
      125,
    ],
    ['the last picture is held for 30 s at most', sourceOf(43_000), { ...ten, framesEndSec: 43_000 }, 999, 749],
    ['without a stated length the packets decide', sourceOf(40, false), ten, 250, 0],
    ['the last frame is kept when it has no duration', sourceOf(9.96), { ...ten, framesEndSec: 9.96 }, 250, 0],
  ])('%s', (_, source, packets, frames, heldFrames) => {
    expect(planFrames(source, packets)).toEqual({ frames, heldFrames, warnings: [] });
  });

  it('a source that lacks over 1 % of its stated length has a warning, and over 2 % is corrupt', () => {
    expect(planFrames(sourceOf(10.15), ten).warnings).toMatchObject([{ code: 'shorter_than_stated' }]);
    expect(() => planFrames(sourceOf(10.3), ten)).toThrow('cut off: 0.3 s');
  });

  it('a gap of over 30 s without picture and sound is corrupt input', () => {
    expect(() => planFrames(sourceOf(10), { ...ten, longestGapSec: 31 })).toThrow(
      expect.objectContaining({ code: 'corrupt_input', message: expect.stringContaining('a gap of 31 s') }),
    );
    expect(planFrames(sourceOf(10), { ...ten, longestGapSec: 30 }).frames).toBe(250);
  });

  it('frames that could not be decoded are compared with the plan', () => {
    const span = planFrames(sourceOf(10), ten);
    expect(checkFrames(248, span, sourceOf(10))).toEqual([]);
    expect(checkFrames(246, span, sourceOf(10))).toMatchObject([{ code: 'shorter_than_stated' }]);
    expect(() => checkFrames(240, span, sourceOf(10))).toThrow(expect.objectContaining({ code: 'corrupt_input' }));
  });
});

describe('the frames of sound alone', () => {
  const sound = { ...ten, frames: 0, lastFrameSec: 0, framesEndSec: 0, longestFrameSec: 0, soundEndSec: 10 };
  const grid = { rate: { num: 375, den: 8 }, gopFrames: 94, segmentFrames: 282 };
  const plan = (durationSec: number, isDurationStated = true, more = {}) =>
    planSound({ durationSec, isDurationStated }, { ...sound, ...more }, grid);

  it('the packets decide, whatever a header states', () => {
    expect(plan(10)).toEqual({ frames: 470, warnings: [] });
    expect(plan(3)).toEqual({ frames: 470, warnings: [] });
    expect(plan(40, false)).toEqual({ frames: 470, warnings: [] });
  });

  it('sound that lacks over 1 % of its stated length has a warning, and over 2 % is corrupt, as is a gap', () => {
    expect(plan(10.15).warnings).toMatchObject([{ code: 'shorter_than_stated' }]);
    expect(() => plan(10.3)).toThrow('cut off: 0.3 s');
    expect(() => plan(10, true, { longestGapSec: 31 })).toThrow('a gap of 31 s');
  });
});
