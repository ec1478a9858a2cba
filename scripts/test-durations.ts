import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { durationsSec, shortSec } from '../testing/durations.ts';

// node scripts/test-durations.ts REPORT…: takes what the reports (`test-results/TIER.json`, written by
// scripts/run-tiers.ts) say of files into testing/durations.json; files that they do not name stay as they are. The
// longest files begin first, slices are cut by them, and `make test ONLY=…` takes what fits.

const root = join(import.meta.dirname, '..');
const reports = process.argv.slice(2).map((path) => JSON.parse(readFileSync(path, 'utf8')) as { seconds: object });
const durations = new Map<string, number>([
  ...durationsSec,
  ...reports.flatMap(({ seconds }) => Object.entries(seconds)),
]);
const listed = [...durations]
  .map(([path, seconds]) => [path, Math.round(seconds)] as const)
  .filter(([path, seconds]) => seconds > shortSec && existsSync(join(root, path)))
  .toSorted(([a, one], [b, other]) => other - one || a.localeCompare(b));
writeFileSync(join(root, 'testing/durations.json'), `${JSON.stringify(Object.fromEntries(listed), null, 2)}\n`);
