import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { reportUse } from './report-use.ts';

beforeEach(() => vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }));
afterEach(() => vi.useRealTimers());

it('the reports of what a step has used are at most a twentieth of its time apart, and end with it', async () => {
  const ended = new AbortController();
  const at: number[] = [];
  const reported = reportUse(async () => [], { used: () => at.push(performance.now()) }, ended.signal);
  const startMs = performance.now();
  await vi.advanceTimersByTimeAsync(600_000);
  ended.abort();
  await reported;
  const gaps = at.map((ms, index) => [ms - startMs, ms - (at[index - 1] ?? startMs)] as const);
  for (const [ranMs, gapMs] of gaps) expect(gapMs).toBeLessThanOrEqual(Math.min(5_000, Math.max(101, ranMs / 19)));
  expect(at.length).toBeLessThan(250);
});
