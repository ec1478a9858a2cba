import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { kubectl } from './api-server.ts';
import { server } from './cluster.ts';

const run = promisify(execFile);
const chart = fileURLToPath(new URL('../../charts/reelwright', import.meta.url));

/** Where a release is: its own namespace, and that of its runners. */
export interface ReleasePlaces {
  readonly release: string;
  readonly runners: string;
}

/** The chart's service accounts, as the release `reelwright` has them. */
export const serviceAccounts = {
  api: 'reelwright-api',
  delivery: 'reelwright-delivery',
  controller: 'reelwright-controller',
} as const;

// Every kind by which a chart can let somebody do something.
const kinds = ['Namespace', 'ServiceAccount', 'Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding'];

/** Makes what the chart says of who may do what, and nothing else of it. Both namespaces are made. */
export async function applyChartRbac({ release, runners }: ReleasePlaces): Promise<void> {
  const { stdout } = await run(
    helmPath(),
    ['template', 'reelwright', chart, '--namespace', release, '--kube-version', '1.34.0'].concat([
      '--values',
      join(chart, 'values-dev.yaml'),
      '--set',
      `runners.namespace=${runners}`,
    ]),
    { maxBuffer: 16 * 1024 * 1024 },
  );
  // Documents are told apart by their first lines, so that no YAML has to be read here.
  const documents = stdout
    .split(/^---$/m)
    .filter((text) => kinds.some((kind) => RegExp(`^kind: ${kind}$`, 'm').test(text)));
  const namespace = `apiVersion: v1\nkind: Namespace\nmetadata: { name: ${release} }\n`;
  const accounts = documents.filter((text) => /^kind: ServiceAccount$/m.test(text));
  const rest = documents.filter((text) => !accounts.includes(text));
  await apply([namespace, ...rest]);
  // The chart leaves it to the release where these go.
  await apply(accounts, '--namespace', release);
}

function apply(documents: readonly string[], ...where: string[]): Promise<string> {
  return kubectl(server, ['apply', ...where, '-f', '-'], documents.join('\n---\n'));
}

/** helm beside the API server, else on PATH. @throws Error in one line that says how to get it */
function helmPath(): string {
  const folders = [dirname(server.kubectlPath), ...(process.env['PATH'] ?? '').split(delimiter)];
  const found = folders.map((folder) => join(folder, 'helm')).find((path) => existsSync(path));
  if (found === undefined) {
    throw new Error('helm is missing: https://helm.sh/docs/intro/install/ (on PATH, or in KUBEBUILDER_ASSETS)');
  }
  return found;
}
