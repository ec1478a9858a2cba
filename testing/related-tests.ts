import { execFileSync } from 'node:child_process';
import { normalize } from 'node:path/posix';
import { durationOf } from './durations.ts';
import { importGraph } from './import-graph.ts';
import { readSources, type SourceFile } from './imports.ts';

/** Seconds of tests against real servers that fit into a minute and a half on two cores, their start included. */
const realSecMax = 120;
/** Seconds of tests of the deep tier that a change adds to the slice of its commit. */
const deepSecMax = 180;
const isTest = (path: string) => path.endsWith('.test.ts');
const isReal = (path: string) => /^test\/(?:contract|integration|faults)\//.test(path);
const isDeep = (path: string) => path.endsWith('.deep.test.ts');
/** Have a configuration, and a target, of their own. */
const isOnCluster = (path: string) => /^test\/(?:k8s|e2e)\//.test(path);

/** The files that tests start or read by their paths, which is an import in all but its form. */
const usedBy: readonly (readonly [user: string, used: RegExp])[] = [
  ['testing/runner.ts', /^runner\/main\.ts$/],
  ['testing/programs.ts', /^main\.ts$/],
  ['test/integration/player-streams.ts', /^demo\/service\.ts$/],
  ['testing/player-page.ts', /^web\//],
  ['testing/console-page.ts', /^web\//],
  ['test/integration/demo-walk.deep.test.ts', /^demo\/page\//],
  ['testing/databases.ts', /\.sql$/],
];

export interface NearestTests {
  readonly unit: readonly string[];
  readonly real: readonly string[];
  /** Files of tests against real servers that reach a file too, and are not in `real`. */
  readonly left: readonly string[];
  /** Files of tests on a cluster; `make test-k8s` and `make e2e` run them. */
  readonly onCluster: readonly string[];
}

/** The files of tests that reach one of the files by imports; of those against real servers the nearest. */
export function nearestTests(
  root: string,
  files: readonly string[],
  sources: readonly SourceFile[] = readSources(root),
): NearestTests {
  const changed = files.map((file) => normalize(file));
  const tests = testsByDistance(changed, sources);
  const real = withinSeconds(tests.filter(isReal), changed, realSecMax);
  return {
    unit: tests.filter((path) => !isReal(path) && !isOnCluster(path)),
    real,
    left: tests.filter((path) => isReal(path) && !real.includes(path)),
    onCluster: tests.filter(isOnCluster),
  };
}

/**
 * The files of the deep tier that changed, then the nearest that reach a changed file by imports: as many as fit into
 * three minutes.
 */
export function deepTestsReaching(root: string, files: readonly string[]): string[] {
  const changed = files.map((file) => normalize(file));
  return withinSeconds(testsByDistance(changed, readSources(root)).filter(isDeep), [], deepSecMax);
}

/**
 * The files that differ from the branch `main`, with those that are not committed. On `main` itself: the files that the
 * commits of half a day before its last one changed.
 */
export function changedSince(root: string): string[] {
  const names = [git(root, 'diff', '--name-only', base(root)), git(root, 'ls-files', '--others', '--exclude-standard')];
  return names.flatMap((text) => text.split('\n')).filter((name) => name !== '');
}

/** Where this branch has left the branch `main`; on `main`, its last commit that is older than half a day. */
function base(root: string): string {
  const head = git(root, 'rev-parse', 'HEAD');
  for (const main of ['main', 'origin/main']) {
    try {
      const left = git(root, 'merge-base', 'HEAD', main);
      if (left !== head) return left;
    } catch {
      // No such branch here.
    }
  }
  const halfDayBefore = Number(git(root, 'show', '--no-patch', '--format=%ct', 'HEAD')) - 12 * 60 * 60;
  return git(root, 'rev-list', '-1', `--before=${halfDayBefore}`, 'HEAD') || head;
}

function git(root: string, ...args: string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}

function testsByDistance(changed: readonly string[], sources: readonly SourceFile[]): string[] {
  const distances = distancesTo(changed, importGraph(sources));
  const words = new Set(changed.flatMap(wordsOf));
  // A test that changed is the nearest; one that is named as what it tests is nearer than its imports say.
  const farness = (test: string) =>
    changed.includes(test)
      ? Number.MIN_SAFE_INTEGER
      : (distances.get(test) ?? 0) - 2 * wordsOf(test).filter((word) => words.has(word)).length;
  return [...distances.keys()].filter(isTest).toSorted((one, other) => farness(one) - farness(other));
}

/** How many imports lie between each file and the nearest of `files`. */
function distancesTo(files: readonly string[], imports: ReturnType<typeof importGraph>): Map<string, number> {
  const importers = new Map<string, Set<string>>();
  const add = (from: string, to: string) => importers.set(to, (importers.get(to) ?? new Set()).add(from));
  for (const [from, targets] of imports) for (const to of targets) add(from, to);
  for (const [user, used] of usedBy)
    for (const path of [...imports.keys(), ...files]) if (used.test(path)) add(user, path);
  const distances = new Map(files.map((file) => [file, 0]));
  // A Map is walked in the order of insertion, entries that are added on the way too: breadth first.
  for (const [path, distance] of distances)
    for (const importer of importers.get(path) ?? [])
      if (!distances.has(importer)) distances.set(importer, distance + 1);
  return distances;
}

/** The first tests whose durations fit, and those in `always`. */
function withinSeconds(tests: readonly string[], always: readonly string[], secondsMax: number): string[] {
  let seconds = 0;
  return tests.filter((path) => {
    const isTaken = always.includes(path) || seconds + durationOf(path) <= secondsMax;
    if (isTaken) seconds += durationOf(path);
    return isTaken;
  });
}

function wordsOf(path: string): string[] {
  return path.split(/[/.-]/).filter((word) => !['test', 'ts', 'integration', 'platform', 'domain'].includes(word));
}
