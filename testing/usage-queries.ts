import type { Database } from '#platform/postgres/database.ts';
import { usageDimensions, usageOf } from '#platform/postgres/usage-store.ts';
import { usageDays, usageKeys } from './many-rows.ts';

type Query = readonly [what: string, examinedMax: number, call: (d: Database) => Promise<unknown>];

/** Usage and quotas of a year, of three. */
export function usageQueries(): Query[] {
  const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
  const year = { from: day(usageDays / 3 - 1), to: day(0), limit: 10_000 };
  const rowsOfYear = (usageDays / 3) * usageKeys;
  return [
    ['usage: a year of all keys', rowsOfYear, (d) => usageOf(d, { ...year, by: ['day'], keyId: null })],
    ['usage: a year by everything', rowsOfYear, (d) => usageOf(d, { ...year, by: usageDimensions, keyId: null })],
    ['usage: a year of a key', usageDays / 3, (d) => usageOf(d, { ...year, by: ['day', 'type'], keyId: '00000005' })],
  ];
}
