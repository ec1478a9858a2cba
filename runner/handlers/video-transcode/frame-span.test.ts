import { describe, expect, it } from 'vitest';
import type { PacketTotals } from '#domain/media/packet-timeline.ts';
import { planAudioFrames, planFrames, shorterWarnings, silentWarnings } from './frame-span.ts';

const ten: PacketTotals = {
  frames: 250,
  packets: 250,
  lastFrameSec: 9.96,
  framesEndSec: 10,
  longestFrameSec: 0.04,
  audioEndSec: 0,
  longestGapSec: 0,
};
const sourceOf = (videoSec: number | null, fileSec: number | null = null) => ({
  video: { rate: { num: 25, den: 1 } },
  stated: { videoSec, fileSec },
});
const cut = async () => true;
const whole = async () => false;

describe('the frames of a stream', () => {
  it.each([
    ['a steady source has its own frames', sourceOf(10), ten, 250, 0],
    ['the last frame is held while the audio goes on', sourceOf(10), { ...ten, audioEndSec: 12 }, 300, 50],
    ['audio that is hardly longer holds nothing', sourceOf(10), { ...ten, audioEndSec: 10.08 }, 250, 0],
    ['the last frame is held for the duration of its packet', sourceOf(15), { ...ten, framesEndSec: 15 }, 375, 125],
    [
      'the last frame is held to the stated end when earlier ones lasted as long',
      sourceOf(15),
      { ...ten, framesEndSec: 9.96, longestFrameSec: 4 },
      375,
      125,
    ],
    ['without a stated length the packets decide', sourceOf(null), ten, 250, 0],
    ['the last frame is kept when it has no duration', sourceOf(9.96), { ...ten, framesEndSec: 9.96 }, 250, 0],
  ])('%s', (_, source, packets, frames, heldFrames) => {
    expect(planFrames(source, packets)).toMatchObject({ frames, heldFrames, missing: { sec: 0 } });
  });

  it.each([
    ['that is as long as the video', 0, 10, 25, false],
    ['that ends a tenth of a second before the video', 0, 9.9, 25, false],
    ['that ends a fifth of a second before the video', 0, 9.8, 25, true],
    ['that ends within the last frame of a time lapse', 0, 9.2, 1, false],
    ['that outlasts the video', 0, 14, 25, false],
    ['that begins half a second late', 0.5, 10, 25, false],
    ['that begins two seconds late', 2, 10, 25, true],
  ])('C16.17: an audio stream %s has a warning where its track is silent', (_, fromSec, toSec, num, isWarned) => {
    const spans = new Map([[3, { fromSec, toSec }]]);
    const warnings = silentWarnings({ video: { rate: { num, den: 1 } } }, { framesEndSec: 10, audioSpans: spans });
    expect(warnings.map(({ code }) => code)).toEqual(isWarned ? ['audio_shorter_than_video'] : []);
  });

  it('the last frame is held for 30 s at most', () => {
    const span = planFrames(sourceOf(43_000), { ...ten, framesEndSec: 43_000 });
    expect(span).toMatchObject({ frames: 999, heldFrames: 749 });
  });

  it('a file that lacks over 2 % of its stated length is corrupt where it was cut off', async () => {
    const lacking = planFrames(sourceOf(10.3), ten);
    await expect(shorterWarnings(lacking, cut)).rejects.toThrow('cut off: 0.3 s');
    await expect(shorterWarnings(planFrames(sourceOf(null, 10.3), ten), cut)).rejects.toThrow('cut off: 0.3 s');
  });

  it('a header alone refuses nothing: over 1 % less than it states is a warning', async () => {
    for (const [statedSec, warned] of [
      [10.05, 0],
      [10.15, 1],
      [40_000, 1],
    ] as const) {
      expect(await shorterWarnings(planFrames(sourceOf(statedSec), ten), whole)).toHaveLength(warned);
    }
    expect(await shorterWarnings(planFrames(sourceOf(10.15), ten), cut)).toMatchObject([
      { code: 'shorter_than_stated' },
    ]);
  });

  it('a gap of over 30 s without video and audio is corrupt input', () => {
    expect(() => planFrames(sourceOf(10), { ...ten, longestGapSec: 31 })).toThrow(
      expect.objectContaining({ code: 'corrupt_input', message: expect.stringContaining('a gap of 31 s') }),
    );
    expect(planFrames(sourceOf(10), { ...ten, longestGapSec: 30 }).frames).toBe(250);
  });
});

describe('the frames of audio alone', () => {
  const audio = { ...ten, frames: 0, lastFrameSec: 0, framesEndSec: 0, longestFrameSec: 0, audioEndSec: 10 };
  const grid = { rate: { num: 375, den: 8 }, gopFrames: 94, segmentFrames: 282 };
  const plan = (fileSec: number | null, more = {}) =>
    planAudioFrames({ stated: { videoSec: null, fileSec } }, { ...audio, ...more }, grid);

  it('audio that lacks over 2 % of its stated length is corrupt where the file was cut off', async () => {
    await expect(shorterWarnings(plan(10.3), cut)).rejects.toThrow('cut off: 0.3 s');
    expect(await shorterWarnings(plan(10.3), whole)).toMatchObject([{ code: 'shorter_than_stated' }]);
  });
});
