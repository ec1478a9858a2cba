import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { changedSince, nearestTests } from '../testing/related-tests.ts';

// `make test ONLY=…`: node scripts/test-only.ts changed|PATH… -- FLAGS OF VITEST. Runs every unit test that reaches the
// files by imports, and of the tests against real servers the nearest, as many as fit into two minutes.

const root = join(import.meta.dirname, '..');
const files = process.argv.slice(2, process.argv.indexOf('--'));
const flags = process.argv.slice(process.argv.indexOf('--') + 1);

const say = (line: string) => process.stderr.write(`${line}\n`);
const changed = files.includes('changed') ? changedSince(root) : files;
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
