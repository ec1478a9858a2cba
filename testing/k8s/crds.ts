import { fileURLToPath } from 'node:url';
import { kubectl } from './api-server.ts';
import { server } from './cluster.ts';

const folder = fileURLToPath(new URL('../../crds', import.meta.url));

/** Installs the committed definitions with kubectl and waits until the API server serves them. */
export async function installCrds(): Promise<void> {
  await kubectl(server, ['apply', '--server-side', '-f', folder]);
  await kubectl(server, [
    'wait',
    '--for=condition=Established',
    '--timeout=30s',
    'crd/mediajobs.reelwright.dev',
    'crd/mediaprofiles.reelwright.dev',
    'crd/mediarollouts.reelwright.dev',
    'crd/runnerpools.reelwright.dev',
  ]);
}
