import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shareSlots, type SlotUser } from './slot-shares.ts';

const user = (key: string, more: Partial<SlotUser> = {}): SlotUser => {
  return { key, weight: 1, slots: 1, slotsMax: 100, ...more };
};

describe('C36.11: spare slots', () => {
  it.each<[string, number, SlotUser[], number[]]>([
    ['go to the only user', 5, [user('a')], [6]],
    ['are shared by key, however many users a key has', 4, [user('a'), user('a'), user('a'), user('b')], [2, 1, 1, 4]],
    ['are shared by weight', 6, [user('a'), user('b', { weight: 3 })], [2, 6]],
    ['are shared evenly inside a key', 4, [user('a', { slots: 3 }), user('a')], [4, 4]],
    ['that one key cannot use go to others', 6, [user('a', { slotsMax: 2 }), user('b')], [2, 6]],
    ['that nobody can use are left', 6, [user('a', { slotsMax: 2 })], [2]],
    ['go to the first of equal users', 1, [user('a'), user('b')], [2, 1]],
    ['are none where more slots are taken than there are', -3, [user('a'), user('b')], [1, 1]],
  ])('%s', (_, spare, users, slots) => {
    expect(shareSlots(spare, users)).toEqual(slots);
  });

  it('are all used where they can be, and no key has more for its weight than one that could use another', () => {
    const users = fc.array(
      fc.record({
        key: fc.constantFrom('a', 'b', 'c'),
        slots: fc.constant(1),
        slotsMax: fc.integer({ min: 1, max: 9 }),
      }),
      { minLength: 1, maxLength: 6 },
    );
    const weights = fc.record({
      a: fc.integer({ min: 1, max: 4 }),
      b: fc.integer({ min: 1, max: 4 }),
      c: fc.integer({ min: 1, max: 4 }),
    });
    fc.assert(
      fc.property(users, weights, fc.nat(30), (some, weightOf, spare) => {
        const all = some.map((one) => ({ ...one, weight: weightOf[one.key] }));
        const shares = shareSlots(spare, all);
        const given = shares.map((share, index) => share - (all[index]?.slots ?? 0));
        const wanted = all.reduce((sum, { slots, slotsMax }) => sum + slotsMax - slots, 0);
        expect(given.reduce((sum, each) => sum + each, 0)).toBe(Math.min(spare, wanted));
        const held = (key: string) =>
          shares.reduce((sum, share, index) => sum + (all[index]?.key === key ? share : 0), 0);
        for (const [index, { key, weight, slotsMax }] of all.entries())
          if ((shares[index] ?? 0) < slotsMax)
            for (const [other, one] of all.entries())
              if (one.key !== key && (given[other] ?? 0) > 0)
                expect((held(one.key) - 1) / one.weight).toBeLessThanOrEqual(held(key) / weight + 1e-9);
      }),
      { numRuns: 200 },
    );
  });
});
