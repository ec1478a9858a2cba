import { describe, expect, it } from 'vitest';
import { placeShiftSec, planFrameRate } from './frame-rate.ts';
import { rational, showRational } from './rational.ts';

/** Times of `count` frames `gapSec` apart, each moved by `wobble`. */
function frames(count: number, gapSec: number, wobble: (index: number) => number = () => 0): number[] {
  return Array.from({ length: count }, (_, index) => index * gapSec + wobble(index));
}

const milliseconds = (times: number[]) => times.map((time) => Math.round(time * 1000) / 1000);
const rate = (num: number, den = 1) => rational(num, den);

/** 24 frames a second, some of them late, and a few missing. */
const unsteady = frames(100, 1 / 24, (i) => (i % 5 === 0 ? 0.006 : 0)).filter((_, i) => i % 10 !== 3);

/** 25 frames a second, the first of them half a frame early. */
const earlyFirst = (count: number) => frames(count, 0.04, (i) => (i === 0 ? -0.02 : 0));

describe('the frame rate of a stream', () => {
  it.each([
    ['a steady 25 is kept', rate(25), frames(100, 0.04), '25', false],
    ['30 is not 29.97', rate(30), frames(100, 1 / 30), '30', false],
    [
      '24000/1001 in times rounded to a millisecond is recognised',
      rate(24_000, 1001),
      milliseconds(frames(100, 1001 / 24_000)),
      '24000/1001',
      false,
    ],
    [
      'an average that counts longer audio is corrected by the gaps',
      rate(29_827, 1000),
      frames(100, 1 / 30),
      '30',
      false,
    ],
    ['without an average the gaps decide the rate', null, milliseconds(frames(200, 0.02)), '50', false],
    ['120 is halved', rate(120), frames(100, 1 / 120), '60', false],
    ['an uncommon steady rate is kept', rate(15), frames(100, 1 / 15), '15', false],
    ['one frame a second is repeated to ten', rate(1), frames(20, 1), '10', false],
    ['frames out of order are sorted first', null, frames(100, 0.02).toReversed(), '50', false],
    ['frames with one time count once', null, [...frames(100, 0.02), ...frames(100, 0.02)], '50', false],
    ['a steady 24.3 is not 24', null, frames(100, 1 / 24.3), '243/10', false],
    ['a stated 15 is kept where times in milliseconds fit it', rate(15), milliseconds(frames(30, 1 / 15)), '15', false],
    [
      'two odd gaps in a hundred do not make a rate variable',
      rate(25),
      frames(101, 0.04, (i) => (i === 50 ? 0.02 : 0)),
      '25',
      false,
    ],
    ['one odd gap in ten does not make a rate variable', rate(25), earlyFirst(11), '25', false],
    ['one odd gap in nine makes a rate variable', rate(25), earlyFirst(10), '25', true],
    [
      'jitter around 30 becomes 30, whatever the header says',
      rate(2985, 100),
      frames(200, 1 / 30, (i) => (i % 3) * 0.008),
      '30',
      true,
    ],
    [
      'a rate that changes from 24 to 60 becomes one between them',
      rate(40),
      [...frames(100, 1 / 24), ...frames(100, 1 / 60).map((t) => t + 5)],
      '50',
      true,
    ],
    [
      'a stated 1000 does not change the rate of a second of frames in milliseconds',
      rate(1000),
      milliseconds(frames(30, 1 / 30)),
      '30',
      false,
    ],
    ['a stated 30 is kept where a few times fit it too', rate(30), [0, 0.033, 0.067], '30', false],
    ['without an average a variable rate of about 24 is 24', null, unsteady, '24', true],
    ['a stated 1000 does not make a variable rate of about 24 one of 60', rate(1000), unsteady, '30000/1001', true],
    ['without any evidence the rate is 25', null, [], '25', false],
    ['one frame has the rate of the header', rate(30), [0], '30', false],
  ])('%s', (_, average, times, expected, isVariable) => {
    const plan = planFrameRate({ average, runs: [times] }, 60);
    expect([showRational(plan.rate), plan.isVariable]).toEqual([expected, isVariable]);
  });

  it.each([
    ['a steady 60 is halved for at most 30', rate(60), frames(120, 1 / 60), 30, rate(30)],
    ['a variable rate of about 24 is halved for at most 20', null, milliseconds(unsteady), 20, rate(12_000, 1001)],
    ['25 for at most 5 is an eighth', rate(25), frames(100, 0.04), 5, rate(25, 8)],
    ['3 for at most 12 is repeated four times', rate(3), frames(40, 1 / 3), 12, rate(12)],
  ])('%s', (_, average, times, max, expected) => {
    expect(planFrameRate({ average, runs: [times] }, max).rate).toEqual(expected);
  });

  it.each([
    ['60 whose times scatter by 0.43 of a frame stays 60', 1 / 60, 650 / 90_000, '60'],
    ['29.83 whose times scatter by 10 ms becomes 29.97', 3017 / 90_000, 0.01, '30000/1001'],
    ['29.9 whose times scatter by 2.8 ms becomes 29.97', 3010 / 90_000, 250 / 90_000, '30000/1001'],
    ['120 whose times scatter is halved', 1 / 120, 0.003, '60'],
    ['15 whose times scatter stays 15', 1 / 15, 0.02, '15'],
  ])('%s, and every frame has a place', (_, gapSec, scatterSec, expected) => {
    const times = frames(240, gapSec, (n) => scatterSec * Math.sin(n * 2.399));
    const plan = planFrameRate({ average: rate(59_940, 1000), runs: [times, times.map((time) => time + 100)] }, 60);
    expect([showRational(plan.rate), plan.isScattered]).toEqual([expected, true]);
  });

  it.each([
    ['a rate that changes', [...frames(100, 1 / 24), ...frames(100, 1 / 60).map((t) => t + 5)]],
    ['30 with missing frames', frames(200, 1 / 30).filter((_, i) => i % 4 !== 1)],
    ['a steady 25', frames(100, 0.04)],
  ])('%s is no scatter', (_, times) => {
    expect(planFrameRate({ average: null, runs: [times] }, 60).isScattered).toBe(false);
  });

  it('the time between two samples is not a gap between frames', () => {
    const runs = [frames(100, 0.04), frames(100, 0.04).map((time) => time + 600)];
    expect(planFrameRate({ average: rate(25), runs }, 60)).toMatchObject({ rate: rate(25), isVariable: false });
  });
});

describe('the places of frames in the output', () => {
  it.each([
    ['frames at their places stay there', frames(60, 1 / 30), 0],
    ['frames a tenth beside their places stay there', frames(60, 1 / 30, () => 0.1 / 30), 0],
    ['frames between two places are moved to one', milliseconds(frames(60, 1 / 30, () => 0.49 / 30)), -0.49 / 30],
    ['frames right before the next place are moved to it', frames(60, 1 / 30, () => 0.7 / 30), 0.3 / 30],
    [
      'frames that lie anywhere stay there, also when the first is between two places',
      frames(60, 1 / 29, () => 0.5 / 30),
      0,
    ],
    ['a frame a quarter beside its place is moved to it', [0.25 / 30], -0.25 / 30],
    ['no frames', [], 0],
  ])('%s', (_, times, shiftSec) => {
    expect(placeShiftSec(times, rate(30))).toBeCloseTo(shiftSec, 3);
  });
});
