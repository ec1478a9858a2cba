import { describe, expect, it } from 'vitest';
import { StatusRateLimiter } from './status-rate-limiter.ts';

/** How many of `wanted` are told at one moment. */
function toldAt(pace: StatusRateLimiter, nowMs: number, wanted: number): number {
  let told = 0;
  for (let n = 0; n < wanted; n += 1) {
    if (!pace.mayTell(nowMs)) break;
    pace.told(nowMs);
    told += 1;
  }
  return told;
}

describe('the pace of progress', () => {
  it('lets a few jobs tell at once, and many five times a second together', () => {
    const pace = new StatusRateLimiter();
    const startMs = Date.parse('2026-11-21T12:00:00Z');
    expect(toldAt(pace, startMs, 100)).toBe(25);
    expect(toldAt(pace, startMs + 199, 100)).toBe(0);
    expect(toldAt(pace, startMs + 1_000, 100)).toBe(5);
    expect(toldAt(pace, startMs + 3_600_000, 100)).toBe(25);
  });

  it('goes on when the clock is set back', () => {
    const pace = new StatusRateLimiter();
    toldAt(pace, 10_000_000, 100);
    expect(toldAt(pace, 5_000_000, 100)).toBe(0);
    expect(toldAt(pace, 5_001_000, 100)).toBe(5);
  });
});
