import { expect, it } from 'vitest';
import { wholeMonths } from './whole-months.ts';

it.each([
  ['a month from its first to its last day', '2026-02-01', '2026-02-28', '2026-02-01', '2026-03-01'],
  ['all but the ends of a year', '2025-11-28', '2026-11-27', '2025-12-01', '2026-11-01'],
  ['to the last day of a year', '2026-11-02', '2026-12-31', '2026-12-01', '2027-01-01'],
  ['a leap year', '2024-01-31', '2024-02-29', '2024-02-01', '2024-03-01'],
  ['none, across two months', '2026-01-02', '2026-02-27', '2026-02-01', '2026-02-01'],
  ['none, within one month', '2026-01-10', '2026-01-20', '2026-02-01', '2026-01-01'],
  ['none, a day', '2026-01-01', '2026-01-01', '2026-01-01', '2026-01-01'],
])('%s', (_, from, to, first, end) => {
  expect(wholeMonths({ from, to })).toEqual({ first, end });
});
