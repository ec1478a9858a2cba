import { readFileSync } from 'node:fs';
import { countTests, failuresOf, retriesOf } from './test-counts.ts';

// node scripts/count-tests.ts REPORT STATUS: prints `passed failed skipped` from vitest's JSON report and exit status,
// and to stderr what failed or passed at a second try only, and why.

const [path = '', status = ''] = process.argv.slice(2);
let report: string | undefined;
try {
  report = readFileSync(path, 'utf8');
} catch {
  // A run that ended before its end leaves no report; countTests counts that as a failure.
}
const { passed, failed, skipped } = countTests(report, Number(status));
process.stdout.write(`${passed} ${failed} ${skipped}\n`);
const failures = failuresOf(report);
if (failed > 0 && failures.length === 0) failures.push(`the run of ${path}, with exit status ${status}`);
for (const failure of failures) process.stderr.write(`failed: ${failure}\n`);
for (const retry of retriesOf(report)) process.stderr.write(`passed when tried again: ${retry}\n`);
