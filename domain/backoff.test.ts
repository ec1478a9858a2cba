import { expect, it } from 'vitest';
import { delayAfter } from './backoff.ts';

it('the delay is doubled from failure to failure, up to the longest one', () => {
  const backoff = { baseMs: 200, maxMs: 5_000 };
  expect([1, 2, 3, 4, 5, 6, 7].map((failures) => delayAfter(failures, backoff))).toEqual([
    200, 400, 800, 1_600, 3_200, 5_000, 5_000,
  ]);
  expect([100, 5_000].map((failures) => delayAfter(failures, backoff))).toEqual([5_000, 5_000]);
});

it('the delay grows by another factor where one is given', () => {
  const backoff = { baseMs: 2_000, maxMs: 300_000, factor: 4 };
  expect([1, 2, 3, 4, 5].map((failures) => delayAfter(failures, backoff))).toEqual([
    2_000, 8_000, 32_000, 128_000, 300_000,
  ]);
});
