import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { kubectl } from './api-server.ts';
import { server } from './cluster.ts';

const run = promisify(execFile);
const chart = fileURLToPath(new URL('../../charts/reelwright', import.meta.url));

/** The namespaces of a release: its own, and that of its runners. */
export interface ReleaseNamespaces {
  readonly release: string;
  readonly runners: string;
}

/** The chart's service accounts, as the release `reelwright` has them. */
export const serviceAccounts = {
  api: 'reelwright-api',
  delivery: 'reelwright-delivery',
  controller: 'reelwright-controller',
} as const;

// Every kind that grants rights.
const rbacKinds = ['Namespace', 'ServiceAccount', 'Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding'];

/** Applies the chart's service accounts, roles and bindings, and both namespaces; nothing else of the chart. */
export async function applyChartRbac({ release, runners }: ReleaseNamespaces): Promise<void> {
  const { stdout } = await run(
    helmPath(),
    [
      'template',
      'reelwright',
      chart,
      '--namespace',
      release,
      '--kube-version',
      '1.34.0',
      '--values',
      join(chart, 'values-dev.yaml'),
      '--set',
      `runners.namespace=${runners}`,
    ],
    { maxBuffer: 16 * 1024 * 1024 },
  );
  // The kind of a document is found by its line, so no YAML is parsed here.
  const documents = stdout
    .split(/^---$/m)
    .filter((text) => rbacKinds.some((kind) => RegExp(`^kind: ${kind}$`, 'm').test(text)));
  const namespace = `apiVersion: v1\nkind: Namespace\nmetadata: { name: ${release} }\n`;
  const accounts = documents.filter((text) => /^kind: ServiceAccount$/m.test(text));
  const rest = documents.filter((text) => !accounts.includes(text));
  await apply([namespace, ...rest]);
  // The chart gives these no namespace: Helm sets that of the release.
  await apply(accounts, '--namespace', release);
}

function apply(documents: readonly string[], ...where: string[]): Promise<string> {
  return kubectl(server, ['apply', ...where, '-f', '-'], documents.join('\n---\n'));
}

/** Path of helm: beside the API server's binaries, else on PATH. @throws Error with how to install it */
function helmPath(): string {
  const folders = [dirname(server.kubectlPath), ...(process.env['PATH'] ?? '').split(delimiter)];
  const found = folders.map((folder) => join(folder, 'helm')).find((path) => existsSync(path));
  if (found === undefined) {
    throw new Error('expected helm on PATH or in KUBEBUILDER_ASSETS, found none: https://helm.sh/docs/intro/install/');
  }
  return found;
}
