import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { kubectl } from '../../testing/k8s/api-server.ts';
import { chart } from '../../testing/k8s/chart.ts';
import { server } from '../../testing/k8s/cluster.ts';

/** An API server that has just got a definition may take a minute to let it go. */
const crdTimeoutMs = 150_000;

test(
  'the install commands of docs/guides/install.md work in their order when they are pasted',
  { timeout: 2 * crdTimeoutMs },
  async () => {
    const page = await readFile('docs/guides/install.md', 'utf8');
    const section = page.split(/^## /m).find((text) => text.startsWith('Install with Helm\n')) ?? '';
    const commands = [...section.matchAll(/^ *```sh\n([\s\S]*?)^ *```$/gm)].map(([, text = '']) =>
      text.replace(/^ {3}/gm, ''),
    );
    expect(commands).toHaveLength(4);
    const folder = await mkdtemp(join(tmpdir(), 'reelwright-install-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const script = commands.join('\n').replace('charts/reelwright', chart);
    const env = {
      ...process.env,
      PATH: `${dirname(server.kubectlPath)}:${process.env['PATH'] ?? ''}`,
      KUBECONFIG: server.kubeconfigPath,
    };
    // Other tests have installed the CRDs without Helm, which then refuses to take them over.
    await deleteCrds();
    await promisify(execFile)('bash', ['-euc', script], { cwd: folder, env });
    onTestFinished(deleteCrds, crdTimeoutMs);

    expect(await names('reelwright', 'deployments')).toEqual(
      ['api', 'controller', 'delivery'].map((component) => `deployment.apps/reelwright-${component}`),
    );
    // Every Secret to which a deployment or a runner pod refers.
    for (const namespace of ['reelwright', 'reelwright-runners'])
      expect(await names(namespace, 'secrets')).toEqual(
        expect.arrayContaining(['secret/reelwright-source', 'secret/reelwright-media']),
      );
    expect(await names('reelwright', 'secrets')).toContain('secret/reelwright-keys');

    // The images that the page builds are those that the pods pull.
    const [, build = ''] = /^```sh build\n([\s\S]*?)^```$/m.exec(page) ?? [];
    const [, registry = ''] = /^REGISTRY=(.+)$/m.exec(build) ?? [];
    const built = [...build.matchAll(/docker push "\$REGISTRY\/(.+?)"/g)].map(([, name]) => `${registry}/${name}`);
    const pulled = await kubectl(server, ['-n', 'reelwright', 'get', 'deployments,configmaps', '-o', 'yaml']);
    expect(built).toHaveLength(2);
    expect(built.filter((image) => !pulled.includes(image))).toEqual([]);
  },
);

/** The names of the objects of a namespace. */
async function names(namespace: string, kinds: string): Promise<string[]> {
  return (await kubectl(server, ['-n', namespace, 'get', kinds, '-o', 'name'])).trim().split('\n');
}

async function deleteCrds(): Promise<void> {
  const crds = ['mediajobs', 'mediaprofiles', 'mediarollouts', 'runnerpools'].map(
    (plural) => `${plural}.reelwright.dev`,
  );
  await kubectl(server, [
    'delete',
    'crd',
    ...crds,
    '--ignore-not-found',
    '--wait',
    `--timeout=${crdTimeoutMs - 10_000}ms`,
  ]);
}
