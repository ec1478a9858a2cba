import { expect, it } from 'vitest';
import { bytesSaved, itemCountsOf, itemCountsSchema, meanScore } from './counts.ts';
import { itemStatuses, type RolloutCounts } from './rollout.ts';

const items = { planned: 1, running: 2, done: 3, failed: 4, skipped: 5, rolled_back: 6, kept: 7 };
const scores = { scored: 3, scoreSum: 200, compared: 0, comparedBeforeSum: 0, comparedAfterSum: 0 };
const counts: RolloutCounts = { ...items, ...scores, bytesBefore: 10, bytesAfter: 30 };

it('counts are shown for every status of an item, sums apart from them', () => {
  expect(Object.entries(itemCountsOf(counts))).toEqual(itemStatuses.map((status, index) => [status, index + 1]));
  expect(itemCountsSchema.parse(counts)).toEqual(itemCountsOf(counts));
  expect(itemCountsSchema.safeParse({ ...counts, kept: -1 }).success).toBe(false);
  expect(bytesSaved(counts)).toBe(-20);
  expect([meanScore(counts.scoreSum, counts.scored), meanScore(0, 0)]).toEqual([66.6667, null]);
});
