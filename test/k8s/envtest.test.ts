import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

const run = promisify(execFile);
const system = `${process.platform}-${process.arch === 'arm64' ? 'arm64' : 'amd64'}`;

/** The script in a checkout of its own, and a server that gives out releases as the official ones are laid out. */
async function checkout({ hash, managerHash }: { hash?: string; managerHash?: string } = {}) {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'reelwright-envtest-')));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, 'scripts'));
  await cp('scripts/envtest', join(folder, 'scripts/envtest'));
  const archive = await release(folder);
  const sum = hash ?? sha512(archive);
  const [os, machine] = system.split('-');
  const manager = `/v1.34.10/bin/${os}/${machine}/kube-controller-manager`;
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
    } else if (request.url === manager) response.end(program);
    else if (request.url === `${manager}.sha512`) response.end(managerHash ?? sha512(program));
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void web.close());
  const address = web.address();
  const origin = typeof address === 'object' && address ? `http://127.0.0.1:${address.port}` : '';
  const index = `${origin}/index`;
  const envtest = (env: Record<string, string>) =>
    run(join(folder, 'scripts/envtest'), {
      env: { PATH: process.env['PATH'] ?? '', KUBERNETES_RELEASES: origin, ...env },
    });
  return { folder, index, envtest, downloads: () => downloads };
}

const program = '#!/bin/sh\n';
const sha512 = (bytes: string | Buffer) => createHash('sha512').update(bytes).digest('hex');

async function release(folder: string): Promise<Buffer> {
  const inside = join(folder, 'release/controller-tools/envtest');
  await mkdir(inside, { recursive: true });
  for (const name of ['etcd', 'kube-apiserver', 'kubectl']) {
    await writeFile(join(inside, name), program);
    await chmod(join(inside, name), 0o755);
  }
  await run('tar', ['-czf', join(folder, 'release.tar.gz'), '-C', join(folder, 'release'), 'controller-tools']);
  return readFile(join(folder, 'release.tar.gz'));
}

test('KUBEBUILDER_ASSETS is taken as it is, without asking anybody', async () => {
  const { folder, envtest, downloads } = await checkout();
  const assets = join(folder, 'release/controller-tools/envtest');
  await cp(join(assets, 'kubectl'), join(assets, 'kube-controller-manager'));
  expect((await envtest({ KUBEBUILDER_ASSETS: assets, ENVTEST_INDEX: 'http://127.0.0.1:1/' })).stdout).toBe(
    `${assets}\n`,
  );
  expect(downloads()).toBe(0);
});

test('the newest release of the wanted Kubernetes is downloaded once and kept', async () => {
  const { folder, index, envtest, downloads } = await checkout();
  const { stdout } = await envtest({ ENVTEST_INDEX: index });
  expect(stdout).toBe(`${folder}/.tools/envtest/1.34-${system}\n`);
  for (const name of ['kube-apiserver', 'kube-controller-manager']) await run(join(stdout.trim(), name));
  await envtest({ ENVTEST_INDEX: index });
  expect(downloads()).toBe(1);
});

test.each([
  ['an archive', 'what the index says', { hash: 'a'.repeat(128) }],
  ['a kube-controller-manager', 'what the release says', { managerHash: 'a'.repeat(128) }],
])('%s that is not %s is refused', async (_, __, hashes) => {
  const { index, envtest, folder } = await checkout(hashes);
  await expect(envtest({ ENVTEST_INDEX: index })).rejects.toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('does not have the SHA-512') as string,
  });
  expect(existsSync(join(folder, '.tools/envtest'))).toBe(false);
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
