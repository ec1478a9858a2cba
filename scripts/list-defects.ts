import { readFileSync } from 'node:fs';
import type { RunSummary } from '../testing/tiers/run-report.ts';

// node scripts/list-defects.ts REPORT: lists what a tier (`test-results/TIER.json`) has to mend: what failed, and what
// passed only when it was tried again.

let report: RunSummary | null = null;
const [path = ''] = process.argv.slice(2);
try {
  report = JSON.parse(readFileSync(path, 'utf8')) as RunSummary;
} catch {
  process.stdout.write(`failed: the run left no ${path}\n`);
}
for (const failure of report?.failures ?? []) process.stdout.write(`failed: ${failure}\n`);
for (const retry of report?.retried ?? []) process.stdout.write(`passed only when it was tried again: ${retry}\n`);
