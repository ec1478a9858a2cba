import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { nearestTests } from '../testing/related-tests.ts';

// `make test ONLY=…`: node scripts/test-only.ts changed|PATH… -- FLAGS OF VITEST. Runs every unit test that reaches the
// files by imports, and of the tests against real servers the nearest, as many as fit into two minutes.

const root = join(import.meta.dirname, '..');
const files = process.argv.slice(2, process.argv.indexOf('--'));
const flags = process.argv.slice(process.argv.indexOf('--') + 1);

const git = (...args: string[]) =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
const say = (line: string) => process.stderr.write(`${line}\n`);

/** Where this branch has left the branch `main`; its last commit in a clone that has no `main`. */
function base(): string {
  for (const main of ['main', 'origin/main']) {
    try {
      return git('merge-base', 'HEAD', main);
    } catch {
      // No such branch here.
    }
  }
  return 'HEAD';
}

/** What differs from the branch `main`, or on `main` itself from its last commit. */
function changedFiles(): string[] {
  const names = [git('diff', '--name-only', base()), git('ls-files', '--others', '--exclude-standard')];
  return names.flatMap((text) => text.split('\n')).filter((name) => name !== '');
}

const changed = files.includes('changed') ? changedFiles() : files;
const { unit, real, left, onCluster } = nearestTests(root, changed);
if (left.length > 0) say(`not run, ${left.length} files that are farther away or take longer: ${left.join(' ')}`);
if (onCluster.length > 0) say(`not run, on a cluster: ${onCluster.join(' ')}`);
if (unit.length + real.length === 0) {
  say(`no test of make test reaches ${changed.join(', ') || 'a change'}`);
  process.exit(0);
}
const { status, error } = spawnSync('vitest', ['run', ...unit, ...real, ...flags], { cwd: root, stdio: 'inherit' });
if (error !== undefined) say(`vitest did not start: ${error.message}`);
process.exit(status ?? 1);
