import { describe, expect, it } from 'vitest';
import { planFrameRate } from './frame-rate.ts';
import { rational, showRational } from './rational.ts';

/** Times of `count` frames `gapSec` apart, each moved by `wobble`. */
function frames(count: number, gapSec: number, wobble: (index: number) => number = () => 0): number[] {
  return Array.from({ length: count }, (_, index) => index * gapSec + wobble(index));
}

const milliseconds = (times: number[]) => times.map((time) => Math.round(time * 1000) / 1000);
const rate = (num: number, den = 1) => rational(num, den);

describe('the frame rate of a stream', () => {
  it.each([
    ['a steady 25 is kept', rate(25), frames(100, 0.04), '25', false],
    ['29.97 written with few digits is 30000/1001', rate(2997, 100), frames(100, 1001 / 30_000), '30000/1001', false],
    ['30 is not 29.97', rate(30), frames(100, 1 / 30), '30', false],
    [
      '24000/1001 in times rounded to a millisecond is recognised',
      rate(24_000, 1001),
      milliseconds(frames(100, 1001 / 24_000)),
      '24000/1001',
      false,
    ],
    [
      'an average that counts longer sound is corrected by the gaps',
      rate(29_827, 1000),
      frames(100, 1 / 30),
      '30',
      false,
    ],
    [
      'an odd first gap does not change the rate',
      rate(24_867, 1000),
      frames(100, 0.04, (i) => (i === 0 ? -0.021 : 0)),
      '25',
      false,
    ],
    ['without an average the rate is that of the gaps', null, milliseconds(frames(200, 0.02)), '50', false],
    ['120 is halved', rate(120), frames(100, 1 / 120), '60', false],
    ['119.88 is halved to 59.94', rate(120_000, 1001), frames(100, 1001 / 120_000), '60000/1001', false],
    ['90 is halved to 45', rate(90), frames(100, 1 / 90), '45', false],
    ['an uncommon steady rate is kept', rate(15), frames(100, 1 / 15), '15', false],
    ['a steady 12.5 is kept', rate(25, 2), frames(100, 0.08), '25/2', false],
    ['one frame a second is repeated to ten', rate(1), frames(20, 1), '10', false],
    ['frames out of order are sorted first', rate(25), frames(100, 0.04).toReversed(), '25', false],
    [
      'jitter around 29.9 becomes 29.97',
      rate(2985, 100),
      frames(200, 1 / 30, (i) => (i % 3) * 0.008),
      '30000/1001',
      true,
    ],
    ['30 with dropped frames is 30', rate(2250, 100), frames(200, 1 / 30).filter((_, i) => i % 4 !== 1), '30', true],
    [
      'a rate that changes from 24 to 60 becomes one between them',
      rate(40),
      [...frames(100, 1 / 24), ...frames(100, 1 / 60).map((t) => t + 5)],
      '50',
      true,
    ],
    ['without any evidence the rate is 25', null, [], '25', false],
    ['one frame has the rate of the header', rate(30), [0], '30', false],
  ])('%s', (_, average, times, expected, isVariable) => {
    const plan = planFrameRate({ average, runs: [times] }, 60);
    expect([showRational(plan.rate), plan.isVariable]).toEqual([expected, isVariable]);
  });

  it('the time between two samples is not a gap between frames', () => {
    const runs = [frames(100, 0.04), frames(100, 0.04).map((time) => time + 600)];
    expect(planFrameRate({ average: rate(25), runs }, 60)).toEqual({ rate: { num: 25, den: 1 }, isVariable: false });
  });
});
