import { fileURLToPath } from 'node:url';
import { kubectl } from './api-server.ts';
import { server } from './cluster.ts';

/** Installs the checked-in definitions, as a person would, and waits until the API server serves them. */
export async function installCrds(): Promise<void> {
  await kubectl(server, ['apply', '--server-side', '-f', fileURLToPath(new URL('../../crds', import.meta.url))]);
  await kubectl(server, [
    'wait',
    '--for=condition=Established',
    '--timeout=30s',
    'crd/mediajobs.reelwright.dev',
    'crd/runnerpools.reelwright.dev',
  ]);
}
