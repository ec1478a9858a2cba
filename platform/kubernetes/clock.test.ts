import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { monotonicClock } from './clock.ts';

const dayMs = 86_400_000;

describe('the clock of this machine', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test.each([1, 24, 25, 49, 50, 365])('a delay of %i days ends after them, once', async (days) => {
    let runs = 0;
    monotonicClock.after(days * dayMs, () => (runs += 1));
    await vi.advanceTimersByTimeAsync(days * dayMs - 1);
    expect(runs).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(runs).toBe(1);
    await vi.advanceTimersByTimeAsync(days * dayMs);
    expect(runs).toBe(1);
  });

  test.each([0, 1, 30])('a delay of 60 days that is cancelled after %i does not end', async (days) => {
    let runs = 0;
    const cancel = monotonicClock.after(60 * dayMs, () => (runs += 1));
    await vi.advanceTimersByTimeAsync(days * dayMs);
    cancel();
    await vi.advanceTimersByTimeAsync(90 * dayMs);
    expect(runs).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });
});
