import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runSummaryFile, type RunSummary } from './run-report.ts';

const root = join(import.meta.dirname, '../..');

/** The summary and the output of a run of vitest over files of these texts. */
async function run(files: Readonly<Record<string, string>>) {
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-run-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  await mkdir(join(dir, 'tests'));
  const head = "import { expect, test } from 'vitest';\nlet calls = 0;\nvoid [expect, test, calls];\n";
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, 'tests', name), head + text);
  const config = `import { RunReport } from '${join(import.meta.dirname, 'run-report.ts')}';
export default { root: '${dir}', test: { retry: 1, reporters: [new RunReport('${dir}')] } };`;
  await writeFile(join(dir, 'vitest.config.ts'), config);
  await writeFile(join(dir, 'package.json'), '{"type": "module"}');
  await symlink(join(root, 'node_modules'), join(dir, 'node_modules'));
  const args = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--config', join(dir, 'vitest.config.ts')];
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, args, { cwd: dir }, (_error, stdout) => resolve(stdout));
  });
  return { output, summary: JSON.parse(await readFile(join(dir, runSummaryFile), 'utf8')) as RunSummary };
}

test('a run counts tests, files that do not load and errors outside of tests, and lists retries and skips', async () => {
  const { output, summary } = await run({
    'a.test.ts': `test('good', () => {});
test('late', () => { calls += 1; expect(calls).toBe(2); });
test.skip('left out', () => {});
test('bad', () => { throw new Error('why it is bad'); });`,
    'b.test.ts': "throw new Error('does not load');",
    'c.test.ts': "test('rejects', () => { void Promise.reject(new Error('not caught')); });",
  });
  expect([summary.passed, summary.failed, summary.skipped]).toEqual([3, 3, 1]);
  expect(summary.failures.join('\n')).toMatch(/a\.test\.ts: bad\n {2}why it is bad[^]*b\.test\.ts[^]*not caught/);
  expect(summary.retried).toEqual([expect.stringMatching(/^tests\/a\.test\.ts: late\n/)]);
  expect(summary.skippedIn).toEqual({ 'tests/a.test.ts': 1 });
  expect(output).toContain('passed only when it was tried again: tests/a.test.ts: late');
  expect(output).toContain('skipped: 1 of tests/a.test.ts; to run them: vitest run tests/a.test.ts');
  expect(Object.keys(summary.seconds)).toContain('tests/a.test.ts');
});
