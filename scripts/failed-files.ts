import { readFileSync } from 'node:fs';
import { failedFilesOf } from './test-counts.ts';

// node scripts/failed-files.ts REPORT: prints the files of vitest's JSON report that failed, if they are few enough for
// their failures to be the machine's: a line with all of them.

const filesMax = 3;
const files = failedFilesOf(readFileSync(process.argv[2] ?? '', 'utf8'));
if (files.length <= filesMax) process.stdout.write(files.join(' '));
