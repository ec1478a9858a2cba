import type { TestProject } from 'vitest/node';
import { type ApiServerAddress, startApiServer } from './api-server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    apiServer: ApiServerAddress;
  }
}

/** One kube-apiserver for all test files of the run; each file works in namespaces of its own. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const assets = process.env['KUBEBUILDER_ASSETS'];
  if (!assets) throw new Error('KUBEBUILDER_ASSETS is not set: run `make test-k8s`, or set it by scripts/envtest');
  const { stop, ...address } = await startApiServer(assets);
  project.provide('apiServer', address);
  return stop;
}
