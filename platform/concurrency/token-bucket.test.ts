import { describe, expect, it } from 'vitest';
import { TokenBucket } from './token-bucket.ts';

/** How many of `wanted` tokens are given at one moment. */
function takenAt(bucket: TokenBucket, nowMs: number, wanted: number): number {
  let taken = 0;
  while (taken < wanted && bucket.hasToken(nowMs)) {
    bucket.take(nowMs);
    taken += 1;
  }
  return taken;
}

const bucketOf25 = () => new TokenBucket({ perSecond: 5, burst: 25 });

describe('a token bucket', () => {
  it('a token bucket gives its burst at once, and then tokens at its rate', () => {
    const bucket = bucketOf25();
    const startMs = Date.parse('2026-11-21T12:00:00Z');
    expect(takenAt(bucket, startMs, 100)).toBe(25);
    expect(takenAt(bucket, startMs + 199, 100)).toBe(0);
    expect(takenAt(bucket, startMs + 1_000, 100)).toBe(5);
    expect(takenAt(bucket, startMs + 3_600_000, 100)).toBe(25);
  });

  it('a token bucket fills again after its clock was set back', () => {
    const bucket = bucketOf25();
    takenAt(bucket, 10_000_000, 100);
    expect(takenAt(bucket, 5_000_000, 100)).toBe(0);
    expect(takenAt(bucket, 5_001_000, 100)).toBe(5);
  });

  it('a token bucket says how long a token on credit takes to be paid back', () => {
    const bucket = new TokenBucket({ perSecond: 10, burst: 2 });
    expect([0, 0, 0, 0].map((nowMs) => bucket.take(nowMs))).toEqual([0, 0, 100, 200]);
    expect(bucket.take(150)).toBe(150);
  });
});
