import { fileURLToPath } from 'node:url';
import { type ApiServerAddress, kubectl } from './api-server.ts';

const folder = fileURLToPath(new URL('../../crds', import.meta.url));
const definitions = ['mediajobs', 'mediaprofiles', 'mediarollouts', 'runnerpools'].map(
  (plural) => `crd/${plural}.reelwright.dev`,
);

/** Installs the committed definitions with kubectl and waits until the API server serves them. */
export async function installCrds(server: ApiServerAddress): Promise<void> {
  await kubectl(server, ['apply', '--server-side', '-f', folder]);
  await kubectl(server, ['wait', '--for=condition=Established', '--timeout=30s', ...definitions]);
}
