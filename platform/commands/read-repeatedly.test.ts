import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { readRepeatedly } from './read-repeatedly.ts';

beforeEach(() => vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }));
afterEach(() => vi.useRealTimers());

it('readings of running work are at most a twentieth of its time apart, and end with it', async () => {
  const ended = new AbortController();
  const at: number[] = [];
  const reading = readRepeatedly(() => at.push(performance.now()), ended.signal);
  const startMs = performance.now();
  await vi.advanceTimersByTimeAsync(600_000);
  ended.abort();
  await reading;
  const gaps = at.map((ms, index) => [ms - startMs, ms - (at[index - 1] ?? startMs)] as const);
  for (const [ranMs, gapMs] of gaps) expect(gapMs).toBeLessThanOrEqual(Math.min(5_000, Math.max(101, ranMs / 19)));
  expect(at.length).toBeLessThan(250);
});
