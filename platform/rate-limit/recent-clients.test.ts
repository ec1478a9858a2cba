import { expect, it } from 'vitest';
import { RecentClients } from './recent-clients.ts';

it('a client has others while one has made a request in the last five seconds', () => {
  const recent = new RecentClients();
  expect(recent.hasOther('a', 0)).toBe(false);
  recent.note('a', 0);
  expect([recent.hasOther('a', 0), recent.hasOther('b', 0)]).toEqual([false, true]);
  recent.note('b', 1_000);
  for (let nowMs = 2_000; nowMs < 5_000; nowMs += 100) recent.note('a', nowMs);
  expect([recent.hasOther('a', 5_999), recent.hasOther('a', 6_000)]).toEqual([true, false]);
  expect([recent.hasOther('b', 9_899), recent.hasOther('b', 9_900)]).toEqual([true, false]);
});
