import { describe, expect, it } from 'vitest';
import { judgeCanary } from './gate.ts';
import { type CanaryGate, itemStatuses, type RolloutCounts } from './rollout.ts';

const none = {
  ...(Object.fromEntries(itemStatuses.map((status) => [status, 0])) as Record<(typeof itemStatuses)[number], number>),
  bytesBefore: 0,
  bytesAfter: 0,
  scored: 0,
  scoreSum: 0,
  compared: 0,
  comparedBeforeSum: 0,
  comparedAfterSum: 0,
};

function verdictOf(gate: Partial<CanaryGate>, counts: Partial<RolloutCounts>) {
  return judgeCanary({ share: 0.1, max_failure_share: 0.1, ...gate }, { ...none, ...counts });
}

describe('the gate of a canary', () => {
  it('nothing is decided while an item may still end either way', () => {
    expect(verdictOf({}, { done: 3, running: 1 })).toBeNull();
    expect(verdictOf({}, { done: 3, planned: 1 })).toBeNull();
    expect(verdictOf({ max_bytes_ratio: 0.1 }, { done: 3, running: 1, bytesBefore: 1, bytesAfter: 2 })).toBeNull();
  });

  it('too many failures fail it before its end, and as many as allowed do not', () => {
    expect(verdictOf({}, { done: 3, failed: 2, running: 5 })?.passed).toBe(false);
    expect(verdictOf({}, { done: 3, failed: 1, running: 6 })).toBeNull();
    expect(verdictOf({}, { done: 9, failed: 1 })).toEqual({ passed: true, failures: [] });
    expect(verdictOf({}, { done: 8, failed: 2 })?.failures).toEqual([
      '2 failed: a share of 0.2, more than max_failure_share 0.1',
    ]);
    expect(verdictOf({ max_failure_share: 0 }, { failed: 1 })?.passed).toBe(false);
  });

  it('each limit fails it by itself, and is met at its value', () => {
    const counts = { done: 2, bytesBefore: 100, bytesAfter: 110, scored: 2, scoreSum: 180 };
    expect(verdictOf({ max_bytes_ratio: 1.1 }, counts)?.passed).toBe(true);
    expect(verdictOf({ max_bytes_ratio: 1.09 }, counts)?.passed).toBe(false);
    expect(verdictOf({ min_score: 90 }, counts)?.passed).toBe(true);
    expect(verdictOf({ min_score: 90.1 }, counts)?.passed).toBe(false);
    const all = verdictOf({ max_bytes_ratio: 1, min_score: 95 }, counts);
    expect(all?.failures).toEqual([
      'bytes came to 1.1 of before, more than max_bytes_ratio 1',
      'the mean score is 90, less than min_score 95',
    ]);
  });

  it('a limit that nothing can be measured by fails it', () => {
    for (const [gate, failure] of [
      [{ max_bytes_ratio: 1 }, /^max_bytes_ratio: no earlier result has a known size/],
      [{ min_score: 1 }, /^min_score: no result has a score/],
    ] as const)
      expect(verdictOf(gate, { done: 1 })?.failures).toEqual([expect.stringMatching(failure)]);
  });

  it('a canary of which nothing is left passes: there is nothing to lose', () => {
    expect(verdictOf({ min_score: 90 }, {})).toEqual({ passed: true, failures: [] });
    expect(verdictOf({ min_score: 90 }, { skipped: 3 })?.passed).toBe(true);
  });
});
