import { execFile } from 'node:child_process';
import { access, copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

/** Runs a target in a checkout with `files`, and returns those that are left. */
async function filesLeftBy(target: string, files: readonly string[]): Promise<string[]> {
  const checkout = await mkdtemp(join(tmpdir(), 'reelwright-clean-'));
  onTestFinished(() => rm(checkout, { recursive: true, force: true }));
  await copyFile(join(import.meta.dirname, '../Makefile'), join(checkout, 'Makefile'));
  for (const file of files) {
    await mkdir(dirname(join(checkout, file)), { recursive: true });
    await writeFile(join(checkout, file), 'content');
  }
  await promisify(execFile)('make', [target], { cwd: checkout });
  const exists = (file: string) =>
    access(join(checkout, file)).then(
      () => [file],
      () => [],
    );
  return (await Promise.all(files.map(exists))).flat();
}

const secrets = '.reelwright/service.env';
const made = ['.reelwright/demo/secrets/API_KEY', '.reelwright/demo-2/service.log', 'test-results/player/a.png'];
const installed = ['node_modules/vitest/package.json', '.tools/bin/redis-server'];

test('`make clean` removes what the demo and the tests made, and keeps secrets and installed programs', async () => {
  expect(await filesLeftBy('clean', [secrets, ...made, ...installed])).toEqual([secrets, ...installed]);
});

test('`make distclean` also removes installed programs, and keeps secrets', async () => {
  expect(await filesLeftBy('distclean', [secrets, ...made, ...installed])).toEqual([secrets]);
});
