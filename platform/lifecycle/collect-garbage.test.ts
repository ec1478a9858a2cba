import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { collectGarbage } from './collect-garbage.ts';

it('what nothing refers to any more is given back', async () => {
  let large: object | null = { bytes: Array.from({ length: 100_000 }, (_, n) => `${n}`) };
  const seen = new WeakRef(large);
  // A reference that was just made holds until the end of this turn.
  await turn();
  collectGarbage();
  expect(seen.deref()).toBe(large);
  large = null;
  await turn();
  collectGarbage();
  expect(seen.deref()).toBeUndefined();
});
