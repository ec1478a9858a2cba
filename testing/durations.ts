import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The seconds that long files of tests took in whole runs; `scripts/test-durations.ts` writes them. */
export const durationsSec: ReadonlyMap<string, number> = new Map(
  Object.entries(JSON.parse(readFileSync(join(import.meta.dirname, 'durations.json'), 'utf8')) as object),
);

/** The seconds of a file that is not listed: one of the short ones, or a new one. */
export const shortSec = 4;

/** The seconds that a file takes on two cores, its start included. */
export function durationOf(path: string): number {
  return durationsSec.get(path) ?? shortSec;
}
