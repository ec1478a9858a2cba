import { expect, test } from 'vitest';
import { slowness } from './machine-speed.ts';

test('a machine is never taken for faster than the one of the budgets, and as slow each time', () => {
  const [one, other] = [slowness(), slowness()];
  expect(Math.min(one, other)).toBeGreaterThanOrEqual(1);
  expect(Math.max(one, other) / Math.min(one, other)).toBeLessThan(3);
});
