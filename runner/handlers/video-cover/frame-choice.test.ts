import { describe, expect, it } from 'vitest';
import { chooseFrame, runsOf } from './frame-choice.ts';

describe('a representative frame', () => {
  const good = { timeSec: 1, mean: 120, deviation: 50, sharpness: 10 };
  it.each([
    ['the most preferred frame is chosen among equals', [good, { ...good, timeSec: 2 }], 1],
    [
      'a black frame is not chosen',
      [
        { ...good, mean: 3 },
        { ...good, timeSec: 2 },
      ],
      2,
    ],
    [
      'a frame more blurred than the others is not chosen',
      [
        { ...good, sharpness: 4 },
        { ...good, timeSec: 2 },
      ],
      2,
    ],
    [
      'a soft frame is chosen when all are soft',
      [
        { ...good, sharpness: 1.5 },
        { ...good, timeSec: 2, sharpness: 2 },
      ],
      1,
    ],
    [
      'the frame with the most contrast is chosen when all are black',
      [
        { ...good, mean: 2, deviation: 1 },
        { ...good, timeSec: 2, mean: 5, deviation: 4 },
      ],
      2,
    ],
  ])('%s', (_, looks, timeSec) => {
    expect(chooseFrame(looks)?.timeSec).toBe(timeSec);
  });
});

describe('the times of frames', () => {
  it.each([
    [[2, 2.4, 1.6, 4, 7], [[1.6, 2, 2.4, 4, 7]]],
    [
      [6, 7.2, 4.8, 12, 21],
      [[4.8, 6, 7.2], [12], [21]],
    ],
    [
      [60, 72],
      [[60], [72]],
    ],
    [[0], [[0]]],
  ])('times %j are decoded in runs %j', (timesSec, runs) => {
    expect(runsOf(timesSec)).toEqual(runs);
  });
});
