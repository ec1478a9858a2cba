import { fileURLToPath } from 'node:url';
import { kubectl } from './api-server.ts';
import { crdFolder } from '../../scripts/generate-crds.ts';
import { server } from './cluster.ts';

/** Installs the committed definitions with kubectl and waits until the API server serves them. */
export async function installCrds(): Promise<void> {
  await kubectl(server, ['apply', '--server-side', '-f', fileURLToPath(crdFolder)]);
  await kubectl(server, [
    'wait',
    '--for=condition=Established',
    '--timeout=30s',
    'crd/mediajobs.reelwright.dev',
    'crd/runnerpools.reelwright.dev',
  ]);
}
