import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { durationOf } from '../testing/durations.ts';
import { changedSince, deepTestsReaching } from '../testing/related-tests.ts';
import { slowness } from '../testing/tiers/machine-speed.ts';
import { runSummaryFile, type RunSummary } from '../testing/tiers/run-report.ts';
import { filesOfSlice, parseSlice, sliceOfCommit } from '../testing/tiers/slices.ts';
import { isTierName, tiers, type Tier, type TierName } from '../testing/tiers/tiers.ts';

// node scripts/run-tiers.ts TIER… [-- FLAGS OF VITEST]: runs tiers one after another, prints what each cost, and holds
// each to its budget of processor seconds, which is longer on a slower machine. SLICE=2/6 runs a part of a tier;
// SLICE=auto the one that the commit chooses and, of the deep tier, what reaches the changed files by imports. Leaves
// `test-results/TIER.json` and, for .ci/run, `test-results/TIER.counts` with the numbers passed, failed and skipped.

interface TierResult extends Omit<RunSummary, 'retried' | 'skippedIn'> {
  readonly tier: string;
  readonly isOk: boolean;
  readonly wallSec: number;
  /** The processor time of the tests and all that they started; null where the system does not say. */
  readonly processorSec: number | null;
  readonly budgetSec: number;
}

const root = join(import.meta.dirname, '..');
const separator = process.argv.indexOf('--');
const names = process.argv.slice(2, separator === -1 ? undefined : separator);
const flags = separator === -1 ? [] : process.argv.slice(separator + 1);
const results = names.map((name) => {
  if (!isTierName(name)) throw new Error(`there is no tier "${name}"; there are ${Object.keys(tiers).join(', ')}`);
  return runTier(name);
});
process.stdout.write(table(results));
process.exitCode = results.every(({ isOk }) => isOk) ? 0 : 1;

function runTier(name: TierName): TierResult {
  const tier: Tier = tiers[name];
  const summaryPath = join(root, runSummaryFile);
  rmSync(summaryPath, { force: true });
  const { files, budgetSec: referenceSec } = partOf(name, tier);
  const [program, ...args] = [...tier.command, ...files, ...flags];
  const before = { processorSec: processorSecOfChildren(), ms: Date.now(), slowness: slowness() };
  const { status, error } = spawnSync(program, flags.length > 0 ? [...args, '--passWithNoTests'] : args, {
    cwd: root,
    stdio: 'inherit',
  });
  if (error !== undefined) process.stderr.write(`${program} did not start: ${error.message}\n`);
  const after = processorSecOfChildren();
  const budgetSec = (referenceSec * (before.slowness + slowness())) / 2;
  const processorSec = after === null || before.processorSec === null ? null : after - before.processorSec;
  const summary = readSummary(summaryPath, `${program}, with exit status ${status}`);
  const overBudget = processorSec !== null && processorSec > budgetSec;
  const failures = overBudget
    ? [`the tier took ${Math.round(processorSec)} processor seconds; its budget is ${Math.round(budgetSec)}`]
    : [];
  const isWrong = summary.failed === 0 && (status !== 0 || (summary.passed === 0 && flags.length === 0));
  const failed = summary.failed + failures.length + (isWrong ? 1 : 0);
  const result = {
    ...summary,
    failed,
    failures: [...summary.failures, ...failures, ...(isWrong ? [`the run ended with status ${status}`] : [])],
    tier: name,
    isOk: failed === 0,
    wallSec: (Date.now() - before.ms) / 1000,
    processorSec,
    budgetSec,
  };
  mkdirSync(join(root, 'test-results'), { recursive: true });
  writeFileSync(join(root, `test-results/${name}.json`), JSON.stringify(result));
  writeFileSync(join(root, `test-results/${name}.counts`), `${result.passed} ${failed} ${result.skipped}\n`);
  return result;
}

/** The files of the slice that is asked for, and their budget; no files stand for the whole tier. */
function partOf(name: TierName, tier: Tier): { readonly files: readonly string[]; readonly budgetSec: number } {
  const asked = process.env['SLICE'] ?? '';
  if (asked === '' || tier.slices === 1) return { files: [], budgetSec: tier.budgetSec };
  const head = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' });
  const slice = asked === 'auto' ? sliceOfCommit(head, tier.slices) : parseSlice(asked);
  const inSlice = filesOfSlice(globSync(tier.files, { cwd: root }).toSorted(), slice);
  const near = asked === 'auto' && name === 'deep' ? deepTestsReaching(root, changedSince(root)) : [];
  const further = near.filter((file) => !inSlice.includes(file));
  const nearText = further.length > 0 ? `, and ${further.length} that reach what changed: ${further.join(' ')}` : '';
  process.stdout.write(`${name}: slice ${slice.part}/${slice.of}, ${inSlice.length} files${nearText}\n`);
  return {
    files: [...inSlice, ...further],
    // Slices are of the same time, not of the same processor time.
    budgetSec: (1.5 * tier.budgetSec) / slice.of + 2 * further.reduce((sum, file) => sum + durationOf(file), 0),
  };
}

function readSummary(path: string, run: string): RunSummary {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as RunSummary;
  } catch {
    // A run that was stopped leaves none.
    const none = { passed: 0, skipped: 0, retried: [], skippedIn: {}, seconds: {} };
    return { ...none, failed: 1, failures: [`${run}, left no report`] };
  }
}

/** Seconds of user and system time of every process that this one has waited for, and theirs. Linux alone says it. */
function processorSecOfChildren(): number | null {
  try {
    // After the name, which may hold spaces: state is field 3, cutime 16 and cstime 17, in hundredths of a second.
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /, '')
      .split(' ');
    return (Number(fields[13]) + Number(fields[14])) / 100;
  } catch {
    return null;
  }
}

function table(rows: readonly TierResult[]): string {
  const head = line(['tier', 'passed', 'failed', 'skipped', 'file s', 'processor s', 'budget', 'wall s']);
  const body = rows.map(({ tier, passed, failed, skipped, seconds, processorSec, budgetSec, wallSec }) => {
    const fileSec = Object.values(seconds).reduce((sum, each) => sum + each, 0);
    const numbers = [passed, failed, skipped, fileSec, processorSec ?? 'unknown', budgetSec, wallSec];
    return line([tier, ...numbers.map((each) => (typeof each === 'string' ? each : String(Math.round(each))))]);
  });
  const failures = rows.flatMap((row) => row.failures.map((failure) => `failed in ${row.tier}: ${failure}\n`));
  return `\n${failures.join('')}${head}${body.join('')}`;
}

function line(cells: readonly string[]): string {
  return `${cells.map((cell) => cell.padStart(12)).join('')}\n`;
}
