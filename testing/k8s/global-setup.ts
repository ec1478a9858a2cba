import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { type ApiServerAddress, startApiServer } from './api-server.ts';
import { startControllerManager } from './controller-manager.ts';
import { installCrds } from './crds.ts';
import { endProcess, startGuard } from './processes.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    apiServer: ApiServerAddress;
  }
}

/**
 * A kube-apiserver with our definitions and Kubernetes' own controllers, for all test files of the run; each file works
 * in namespaces of its own. There is no scheduler and no kubelet: a test plays the pods that the Job controller makes.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const assets = process.env['KUBEBUILDER_ASSETS'];
  if (!assets) throw new Error('KUBEBUILDER_ASSETS is not set: run `make test-k8s`, or set it by scripts/envtest');
  const { stop, ...address } = await startApiServer(assets);
  await installCrds(address);
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-controllers-'));
  const controllers = startControllerManager({ assets, folder, kubeconfig: address.kubeconfigPath });
  const guard = startGuard(folder, [controllers]);
  project.provide('apiServer', address);
  return async () => {
    await endProcess(controllers);
    guard.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
    await stop();
  };
}
