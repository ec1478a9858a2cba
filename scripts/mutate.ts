import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import type { LogLevel } from '@stryker-mutator/api/core';
import { Stryker } from '@stryker-mutator/core';
import { compare, type Mutant, readSurvivors, scoreLines, scoreOf, survivorLine } from '../testing/mutation/report.ts';

// `make mutate`: changes the rules in small ways, one change at a time, and runs the unit tests that reach each. A
// mutant that no test notices survives: a rule that could be broken unnoticed. Stryker makes the mutants in a copy of
// the tree; results are kept by file and tests, so a second run repeats only what changed.
//
//   node scripts/mutate.ts [PATH…]    files or folders; without one all that `mutated` names
//
// FRESH=1 repeats all, which is right after a change of code that the files import. Exit code 1: the score is below the
// bound, or a survivor has no reason in testing/mutation/survivors.json.

/** The files whose rules are pure and have unit tests. The other use cases in `jobs/` are tested with real servers. */
const mutated = ['domain/**/*.ts', 'jobs/{next-units,end-attempt}.ts', 'controller/kubernetes/{plan,slots}/*.ts'];
const scoreMin = 90;

interface Location {
  readonly start: { readonly line: number; readonly column: number };
  readonly end: { readonly line: number; readonly column: number };
}

const root = join(import.meta.dirname, '..');
const cache = join(root, 'node_modules/.cache/mutation');

/** The files to mutate, by their folder. */
function filesByFolder(only: readonly string[]): Map<string, string[]> {
  const isWanted = (path: string) =>
    only.length === 0 || only.some((each) => path === each || path.startsWith(`${each.replace(/\/$/, '')}/`));
  const files = globSync(mutated, { cwd: root }).filter((path) => !path.endsWith('.test.ts') && isWanted(path));
  return Map.groupBy(files.toSorted(), (path) => dirname(path));
}

async function mutantsOf(folder: string, files: readonly string[]): Promise<Mutant[]> {
  const temporary = mkdtempSync(join(tmpdir(), 'reelwright-mutate-'));
  mkdirSync(cache, { recursive: true });
  try {
    const stryker = new Stryker({
      mutate: [...files],
      testRunner: 'vitest',
      plugins: ['@stryker-mutator/vitest-runner', join(root, 'testing/mutation/ignored.ts')],
      ignorers: ['descriptions'],
      vitest: { configFile: 'testing/mutation/vitest.config.ts', related: true },
      coverageAnalysis: 'perTest',
      concurrency: Number(process.env['WORKERS'] ?? 1),
      // The configuration of prettier, by which the custom resource definitions are formatted, stays.
      ignorePatterns: ['.*', '!.prettierrc.json', '/web', '/bench', '/demo', '/test-results'],
      tempDirName: temporary,
      incremental: true,
      incrementalFile: join(cache, `${folder.replaceAll('/', '-')}.json`),
      force: process.env['FRESH'] === '1',
      // TypeScript 7 has no JavaScript API, with which Stryker would rewrite the paths of a configuration.
      tsconfigFile: 'none',
      // Mutants of constants run every test that reaches the file.
      reporters: [],
      warnings: false,
      // oxlint-disable-next-line no-unsafe-enum-assignment -- an enum that exists for TypeScript alone
      logLevel: 'error' as LogLevel,
      allowEmpty: true,
    });
    return (await stryker.runMutationTest()).map(({ fileName, location, mutatorName, replacement, status }) => {
      const file = relative(root, fileName);
      return { file, line: location.start.line, kind: mutatorName, code: codeAt(file, location), replacement, status };
    });
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

/** Lines and columns count from 1; the end is the place after the last character. */
function codeAt(file: string, { start, end }: Location): string {
  const lines = readFileSync(join(root, file), 'utf8')
    .split('\n')
    .slice(start.line - 1, end.line);
  lines.push((lines.pop() ?? '').slice(0, end.column - 1));
  return lines.join('\n').slice(start.column - 1);
}

const say = (line: string) => process.stdout.write(`${line}\n`);

async function main(only: readonly string[]): Promise<number> {
  const mutants: Mutant[] = [];
  for (const [folder, files] of filesByFolder(only)) {
    // oxlint-disable-next-line no-await-in-loop -- one run at a time: each takes all that a core has
    const made = await mutantsOf(folder, files);
    mutants.push(...made);
    say(scoreLines(made)[0] ?? folder);
  }
  const { unlisted, outdated } = compare(mutants, readSurvivors(root));
  for (const mutant of unlisted) say(`survived: ${survivorLine(mutant)}`);
  for (const { file, code, replacement } of outdated)
    say(`no survivor any more, remove it from survivors.json: ${file} ${code} → ${replacement}`);
  say(scoreLines(mutants).at(-1) ?? '');
  return scoreOf(mutants) >= scoreMin && unlisted.length + outdated.length === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
