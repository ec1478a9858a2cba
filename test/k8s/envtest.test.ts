import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, cp, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

const run = promisify(execFile);
const system = `${process.platform}-${process.arch === 'arm64' ? 'arm64' : 'amd64'}`;

/** The script in a checkout of its own, and a server that gives out releases as the official ones are laid out. */
async function checkout({ hash }: { hash?: string } = {}) {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'reelwright-envtest-')));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, 'scripts'));
  await cp('scripts/envtest', join(folder, 'scripts/envtest'));
  const archive = await release(folder);
  const sum = hash ?? createHash('sha512').update(archive).digest('hex');
  let downloads = 0;
  const web = createServer((request, response) => {
    const base = `http://${request.headers.host}`;
    const entry = (version: string) =>
      `    envtest-v${version}-${system}.tar.gz:\n      hash: ${sum}\n      selfLink: ${base}/${version}.tar.gz\n`;
    if (request.url === '/index') {
      response.end(`releases:\n${['1.33.7', '1.34.2', '1.34.10', '1.35.0'].map(entry).join('')}`);
    } else if (request.url === '/1.34.10.tar.gz') {
      downloads += 1;
      response.end(archive);
    } else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void web.close());
  const address = web.address();
  const index = typeof address === 'object' && address ? `http://127.0.0.1:${address.port}/index` : '';
  const envtest = (env: Record<string, string>) =>
    run(join(folder, 'scripts/envtest'), { env: { PATH: process.env['PATH'] ?? '', ...env } });
  return { folder, index, envtest, downloads: () => downloads };
}

async function release(folder: string): Promise<Buffer> {
  const inside = join(folder, 'release/controller-tools/envtest');
  await mkdir(inside, { recursive: true });
  for (const name of ['etcd', 'kube-apiserver', 'kubectl']) {
    await writeFile(join(inside, name), '#!/bin/sh\n');
    await chmod(join(inside, name), 0o755);
  }
  await run('tar', ['-czf', join(folder, 'release.tar.gz'), '-C', join(folder, 'release'), 'controller-tools']);
  return readFile(join(folder, 'release.tar.gz'));
}

test('KUBEBUILDER_ASSETS is taken as it is, without asking anybody', async () => {
  const { folder, envtest, downloads } = await checkout();
  const assets = join(folder, 'release/controller-tools/envtest');
  expect((await envtest({ KUBEBUILDER_ASSETS: assets, ENVTEST_INDEX: 'http://127.0.0.1:1/' })).stdout).toBe(
    `${assets}\n`,
  );
  expect(downloads()).toBe(0);
});

test('the newest release of the wanted Kubernetes is downloaded once and kept', async () => {
  const { folder, index, envtest, downloads } = await checkout();
  const { stdout } = await envtest({ ENVTEST_INDEX: index });
  expect(stdout).toBe(`${folder}/.tools/envtest/1.34-${system}\n`);
  await run(join(stdout.trim(), 'kube-apiserver'));
  await envtest({ ENVTEST_INDEX: index });
  expect(downloads()).toBe(1);
});

test('an archive that is not what the index says is refused', async () => {
  const { index, envtest } = await checkout({ hash: 'a'.repeat(128) });
  await expect(envtest({ ENVTEST_INDEX: index })).rejects.toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('does not have the SHA-512') as string,
  });
});

test.each([
  { of: 'a folder without the programs', env: { KUBEBUILDER_ASSETS: '/nowhere' }, says: '/nowhere has no etcd' },
  { of: 'no network', env: { ENVTEST_INDEX: 'http://127.0.0.1:1/index' }, says: 'cannot be read' },
])('with $of one line says what is missing', async ({ env, says }) => {
  const { envtest } = await checkout();
  const error = (await envtest(env as Record<string, string>).catch((e: unknown) => e)) as { stderr: string };
  expect(error.stderr).toContain(says);
  expect(error.stderr.trim().split('\n')).toHaveLength(1);
});
