import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { shortSec } from '../testing/durations.ts';

// node scripts/test-durations.ts REPORT…: writes testing/durations.json from vitest's JSON reports of whole runs, as
// .ci/run leaves them in test-results. The longest files begin first, and `make test ONLY=…` takes what fits.

interface Report {
  readonly testResults: readonly FileResult[];
}
/** Its path; milliseconds. */
interface FileResult {
  readonly name: string;
  readonly startTime: number;
  readonly endTime: number;
}

const root = join(import.meta.dirname, '..');
const durations = process.argv
  .slice(2)
  .flatMap((path) => (JSON.parse(readFileSync(path, 'utf8')) as Report).testResults)
  .map(({ name, startTime, endTime }) => [pathOf(name), Math.round((endTime - startTime) / 1000)] as const)
  .filter(([, seconds]) => seconds > shortSec)
  .toSorted(([a, one], [b, other]) => other - one || a.localeCompare(b));
writeFileSync(join(root, 'testing/durations.json'), `${JSON.stringify(Object.fromEntries(durations), null, 2)}\n`);

/** The path in this tree; a report may be of another checkout. */
function pathOf(name: string): string {
  const parts = name.split('/');
  const paths = parts.map((_, index) => parts.slice(index).join('/'));
  return paths.find((each) => each !== '' && !isAbsolute(each) && existsSync(join(root, each))) ?? name;
}
