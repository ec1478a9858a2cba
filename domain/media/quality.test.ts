import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addsNothing,
  nextCrf,
  type QualityTarget,
  samplePlaces,
  settledQuality,
  ssimTargetOf,
  type Trial,
} from './quality.ts';

const vmaf = (score: number): QualityTarget => ({ measure: 'vmaf', score });

/** Encodes samples until the target is met, with an encoder of a known curve. */
function search(target: QualityTarget, scoreAt: (crf: number) => number, codec: 'h264' | 'av1' = 'h264') {
  const trials: Trial[] = [];
  for (;;) {
    const crf = nextCrf({ codec, target, trials }, codec === 'h264' ? 23 : 32);
    if (crf === null) return { ...settledQuality({ codec, target, trials }), trials };
    trials.push({ crf, score: scoreAt(crf) });
  }
}

const ssimAt = (crf: number) => 1 - 0.01 * Math.exp(0.11 * (crf - 23));

describe('the CRF of a rung', () => {
  it('the CRF of a rung is found by at most three trials, within 1.5 of the target or of the score that is nearest to it', () => {
    const curve = fc.record({
      target: fc.integer({ min: 75, max: 97 }),
      at23: fc.double({ min: 80, max: 99, noNaN: true }),
      slope: fc.double({ min: 0.07, max: 0.2, noNaN: true }),
      bend: fc.double({ min: -0.002, max: 0.002, noNaN: true }),
    });
    fc.assert(
      fc.property(curve, ({ target, at23, slope, bend }) => {
        const scoreAt = (crf: number) => {
          const by = crf - 23;
          return Math.max(0, Math.min(100, 100 - (100 - at23) * Math.exp(slope * by + bend * by * Math.abs(by))));
        };
        const { crf, trials } = search(vmaf(target), scoreAt);
        expect(trials.length).toBeLessThanOrEqual(3);
        expect(crf).toBeGreaterThanOrEqual(16);
        expect(crf).toBeLessThanOrEqual(40);
        const inReach = Math.max(scoreAt(40), Math.min(scoreAt(16), target));
        expect(Math.abs(scoreAt(crf) - inReach)).toBeLessThanOrEqual(1.5);
      }),
    );
  });

  it('the CRF of a rung is the highest that is not worse where a cap of the bit rate keeps every trial below the target', () => {
    expect(search(vmaf(93), (crf) => (crf > 23 ? 60 : 80))).toMatchObject({ score: 80, crf: 23 });
  });

  it('the CRF of a rung is found by SSIM too', () => {
    const { crf, score, measure } = search(ssimTargetOf(93), ssimAt);
    expect([measure, score]).toEqual(['ssim', expect.closeTo(ssimTargetOf(93).score, 2)]);
    expect(ssimAt(crf)).toBeCloseTo(ssimTargetOf(93).score, 3);
  });
});

const trial = (crf: number, score: number): Trial => ({ crf, score });

describe('the next trial of a rung', () => {
  it.each([
    ['is not there once any trial met the target', 'h264', 90, [trial(20, 90.3), trial(23, 85)], null],
    ['is not there where it would be one that was tried', 'av1', 90, [trial(32, 90.535), trial(36, 85)], null],
    ['may be one step from one that was tried', 'av1', 90, [trial(32, 91.13)], 33],
  ] as const)('the next trial %s', (_, codec, score, trials, crf) => {
    expect(nextCrf({ codec, target: vmaf(score), trials }, 23)).toBe(crf);
  });
});

// Scores of 95, 90, 80 and 60 lose 5, 10, 20 and 40: steps of the same length on the scale of the logarithm.
describe('the CRF that trials settle', () => {
  it.each([
    ['lies between the two trials around the target', 80, [trial(20, 95), trial(24, 90), trial(34, 60)], 29, 80],
    ['goes by a usual slope from one trial', 90, [trial(23, 80)], 17.2, 90],
    ['is that of a trial that meets the target', 90, [trial(20, 90.2), trial(26, 80)], 20, 90.2],
    // Grain by an encoder that rounds its quantizer: a CRF of 16.8 came to 87.8.
    ['is that of a trial beside a step', 86, [trial(23, 74.93), trial(18.1, 84.49), trial(17.1, 85.6)], 17.1, 85.6],
    ['is that of the trial that meets it best', 90, [trial(19, 90.3), trial(20, 89.9), trial(26, 80)], 20, 89.9],
    ['is the highest of those that meet it alike', 90, [trial(20, 90), trial(24, 90), trial(28, 80)], 24, 90],
    ['has the score of its trial, even where a lower CRF scored less', 93, [trial(20, 80), trial(24, 85)], 24, 85],
  ])('the CRF %s', (_, target, trials, crf, score) => {
    const settled = settledQuality({ codec: 'h264', target: vmaf(target), trials });
    expect(settled).toEqual({ measure: 'vmaf', crf, score });
  });

  it('the CRF of AV1 is not taken for a trial that is one step away', () => {
    const trials = [trial(32, 92), trial(36, 84)];
    expect(settledQuality({ codec: 'av1', target: vmaf(90.5), trials })).toMatchObject({ crf: 33, score: 90.5 });
  });

  it('no CRF is settled without a trial', () => {
    const untried = { codec: 'h264' as const, target: vmaf(93), trials: [] };
    expect(() => settledQuality(untried)).toThrow(new TypeError('a quality needs a trial'));
  });
});

describe('a rung that adds nothing', () => {
  const quality = { measure: 'vmaf', score: 93, crf: 23 } as const;

  it.each([
    [93, true],
    [92.6, true],
    [91, false],
    [60, false],
  ])('the rung below enlarged to a VMAF of %s: %s', (enlarged, isUseless) => {
    expect(addsNothing(quality, vmaf(93), enlarged)).toBe(isUseless);
  });

  it('a rung below its target by the cap of its bit rate is compared with what it comes to', () => {
    expect(addsNothing({ ...quality, score: 85 }, vmaf(93), 85)).toBe(true);
  });
});

describe('the samples of a source', () => {
  const grid = { gopFrames: 50 };
  const pixels = 1920 * 1080 * 2;

  it.each([
    ['a short one is sampled whole', 40, [0]],
    ['samples do not begin before or end after it', 75, [0, 25]],
    ['a clip has two', 150, [13, 88]],
    ['a minute has two', 1500, [350, 1100]],
  ])('%s', (_, frames, places) => {
    expect(samplePlaces({ frames, grid, pixels })).toEqual(places);
  });

  it('half an hour has a sample for each three minutes, or as many as fit into 2 GiB', () => {
    expect(samplePlaces({ frames: 45_000, grid, pixels: pixels / 2 })).toHaveLength(10);
    expect(samplePlaces({ frames: 45_000, grid, pixels })).toHaveLength(6);
  });
});
