import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { type ApiServerAddress, kubectl, startApiServer } from '../../testing/k8s/api-server.ts';
import { chart } from '../../testing/k8s/chart.ts';

test('the install commands of docs/guides/install.md work in their order when they are pasted', async () => {
  const page = await readFile('docs/guides/install.md', 'utf8');
  const section = page.split(/^## /m).find((text) => text.startsWith('Install with Helm\n')) ?? '';
  const commands = [...section.matchAll(/^ *```sh\n([\s\S]*?)^ *```$/gm)].map(([, text = '']) =>
    text.replace(/^ {3}/gm, ''),
  );
  expect(commands).toHaveLength(4);
  // An empty one: Helm refuses to take over the CRDs of the one that the other files share.
  const server = await startApiServer(process.env['KUBEBUILDER_ASSETS'] ?? '');
  onTestFinished(server.stop);
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-install-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const script = commands.join('\n').replace('charts/reelwright', chart);
  const env = {
    ...process.env,
    PATH: `${dirname(server.kubectlPath)}:${process.env['PATH'] ?? ''}`,
    KUBECONFIG: server.kubeconfigPath,
  };
  await promisify(execFile)('bash', ['-euc', script], { cwd: folder, env });

  expect(await names(server, 'reelwright', 'deployments')).toEqual(
    ['api', 'controller', 'delivery'].map((component) => `deployment.apps/reelwright-${component}`),
  );
  // Every Secret to which a deployment or a runner pod refers.
  for (const namespace of ['reelwright', 'reelwright-runners'])
    expect(await names(server, namespace, 'secrets')).toEqual(
      expect.arrayContaining(['secret/reelwright-source', 'secret/reelwright-media']),
    );
  expect(await names(server, 'reelwright', 'secrets')).toContain('secret/reelwright-keys');

  // The images that the page builds are those that the pods pull.
  const [, build = ''] = /^```sh build\n([\s\S]*?)^```$/m.exec(page) ?? [];
  const [, registry = ''] = /^REGISTRY=(.+)$/m.exec(build) ?? [];
  const built = [...build.matchAll(/docker push "\$REGISTRY\/(.+?)"/g)].map(([, name]) => `${registry}/${name}`);
  const pulled = await kubectl(server, ['-n', 'reelwright', 'get', 'deployments,configmaps', '-o', 'yaml']);
  expect(built).toHaveLength(2);
  expect(built.filter((image) => !pulled.includes(image))).toEqual([]);
});

/** The names of the objects of a namespace. */
async function names(server: ApiServerAddress, namespace: string, kinds: string): Promise<string[]> {
  return (await kubectl(server, ['-n', namespace, 'get', kinds, '-o', 'name'])).trim().split('\n');
}
