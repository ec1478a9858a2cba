import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import type { LogLevel } from '@stryker-mutator/api/core';
import { Stryker } from '@stryker-mutator/core';

// `make mutate`: changes the rules in small ways, one change at a time, and runs the unit tests that reach each. Prints
// each change that no test noticed. Some of them behave as the code does; the others are rules without a test.
//
//   node scripts/mutate.ts [PATH…]     files or folders; without one all that `mutated` names
//   SINCE=7.days                       only files that commits of this time changed

/** The files whose rules are pure and have unit tests. Other use cases are tested with real servers. */
const mutated = [
  'domain/**/*.ts',
  'jobs/completion/{next-units,end-attempt}.ts',
  'controller/kubernetes/{plan,slots}/*.ts',
];
const root = join(import.meta.dirname, '..');

function filesToMutate(paths: readonly string[], since: string | undefined): string[] {
  const isWanted = (file: string) =>
    paths.length === 0 || paths.some((path) => file === path || file.startsWith(`${path.replace(/\/$/, '')}/`));
  const files = globSync(mutated, { cwd: root }).filter((file) => !file.endsWith('.test.ts') && isWanted(file));
  if (since === undefined) return files;
  const changed = execFileSync('git', ['log', `--since=${since}`, '--name-only', '--format='], { cwd: root });
  const changedFiles = new Set(changed.toString().split('\n'));
  return files.filter((file) => changedFiles.has(file));
}

async function mutate(files: readonly string[]) {
  const tempDirName = mkdtempSync(join(tmpdir(), 'reelwright-mutate-'));
  try {
    const stryker = new Stryker({
      mutate: [...files],
      // A test that repeats a text makes it harder to write a better one.
      mutator: { plugins: null, excludedMutations: ['StringLiteral'] },
      testRunner: 'vitest',
      plugins: ['@stryker-mutator/vitest-runner'],
      vitest: { configFile: 'testing/mutation/vitest.config.ts', related: true },
      coverageAnalysis: 'perTest',
      concurrency: Number(process.env['WORKERS'] ?? 1),
      // The configuration of prettier, by which the custom resource definitions are formatted, stays.
      ignorePatterns: ['.*', '!.prettierrc.json', '/web', '/bench', '/demo', '/test-results'],
      tempDirName,
      // TypeScript 7 has no JavaScript API, with which Stryker would rewrite the paths of a configuration.
      tsconfigFile: 'none',
      reporters: [],
      warnings: false,
      // oxlint-disable-next-line no-unsafe-enum-assignment -- an enum that exists for TypeScript alone
      logLevel: 'error' as LogLevel,
      allowEmpty: true,
    });
    return await stryker.runMutationTest();
  } finally {
    rmSync(tempDirName, { recursive: true, force: true });
  }
}

const mutants = await mutate(filesToMutate(process.argv.slice(2), process.env['SINCE'] || undefined));
const survivors = mutants.filter(({ status }) => status === 'Survived' || status === 'NoCoverage');
for (const { fileName, location, mutatorName, replacement } of survivors)
  process.stdout.write(`${relative(root, fileName)}:${location.start.line} ${mutatorName} → ${replacement}\n`);
process.stdout.write(`${mutants.length} mutants, ${survivors.length} survived\n`);
