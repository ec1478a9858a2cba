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

  it('never rises with a target that is in reach', () => {
    const trials = fc.uniqueArray(
      fc.record({ crf: fc.integer({ min: 16, max: 40 }), score: fc.double({ min: 40, max: 100, noNaN: true }) }),
      { minLength: 1, maxLength: 3, selector: ({ crf }) => crf },
    );
    const target = fc.integer({ min: 60, max: 98 });
    fc.assert(
      fc.property(trials, target, (tried, score) => {
        const falling = tried.toSorted((one, other) => one.crf - other.crf);
        const scores = falling.map((trial) => trial.score).toSorted((one, other) => other - one);
        fc.pre(score + 1 <= (scores[0] ?? 0));
        const monotone = falling.map(({ crf }, index) => ({ crf, score: scores[index] ?? 0 }));
        const crfFor = (wanted: number) =>
          settledQuality({ codec: 'h264', target: vmaf(wanted), trials: monotone }).crf;
        expect(crfFor(score + 1)).toBeLessThanOrEqual(crfFor(score));
      }),
    );
  });

  it('the CRF of a rung takes one trial where the CRF of the profile meets the target', () => {
    const { trials, crf } = search(vmaf(93), () => 93.2);
    expect(trials).toEqual([{ crf: 23, score: 93.2 }]);
    expect(crf).toBeCloseTo(23, 0);
  });

  it('the CRF of a rung is a whole number for AV1', () => {
    const { crf } = search(vmaf(90), (at) => 100 - 5 * Math.exp(0.07 * (at - 32)), 'av1');
    expect(crf).toBe(Math.round(crf));
    expect(crf).toBeGreaterThan(38);
  });

  it('the CRF of a rung is the highest that is not worse where a cap of the bit rate keeps every trial below the target', () => {
    expect(search(vmaf(93), (crf) => (crf > 23 ? 60 : 80))).toMatchObject({ score: 80, crf: 23 });
  });

  it('the CRF of a rung is not led astray by two trials that are close together', () => {
    const trials = [
      { crf: 23, score: 99.3 },
      { crf: 31, score: 93.8 },
      { crf: 31.5, score: 93.75 },
    ];
    expect(settledQuality({ codec: 'h264', target: vmaf(93), trials }).crf).toBeLessThan(32.2);
  });

  it('beyond its trials, the CRF of a rung follows the first and the last of them', () => {
    const trials = [
      { crf: 20, score: 99 },
      { crf: 24, score: 98 },
      { crf: 28, score: 90 },
    ];
    // The losses 1, 10 and 15: the logarithm grows by 2.3 in eight steps, and 0.4 are wanted.
    expect(settledQuality({ codec: 'h264', target: vmaf(85), trials }).crf).toBeCloseTo(29.4, 0);
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
    ['lies beyond trials that just miss the target', 90, [trial(20, 90.2), trial(26, 80)], 20.2, 90],
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

  it('three trials encode at most a thirtieth of a long source, and their frames fit on the disk', () => {
    for (const frames of [9000, 45_000, 450_000]) {
      const samples = samplePlaces({ frames, grid, pixels });
      expect(3 * samples.length * grid.gopFrames).toBeLessThanOrEqual(frames / 30);
      expect(samples.length * grid.gopFrames * pixels * 1.5).toBeLessThanOrEqual(2 * 1024 ** 3);
    }
  });
});
