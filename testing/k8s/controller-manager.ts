import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { logged } from './processes.ts';

interface ControllerManagerInput {
  /** The folder with the program. */
  readonly assets: string;
  /** Where its log goes. */
  readonly folder: string;
  readonly kubeconfig: string;
  /** Whether it asks the API server no faster than Kubernetes lets it by default: 20 times a second. */
  readonly hasDefaultLimits?: boolean;
}

/** Without limits of the client, the API server alone bounds how fast the controllers are. */
export const unlimited = { 'kube-api-qps': '1000', 'kube-api-burst': '2000' };

const controllers = [
  'job-controller',
  'garbage-collector-controller',
  'namespace-controller',
  'resourcequota-controller',
  'ttl-after-finished-controller',
];

/**
 * Starts Kubernetes' own kube-controller-manager with the controllers that act on Jobs, their pods and what they own.
 * The definitions (CRDs) should be there: the garbage collector looks for new kinds every 30 seconds.
 */
export function startControllerManager(input: ControllerManagerInput): ChildProcess {
  const { assets, folder, kubeconfig, hasDefaultLimits = false } = input;
  const program = join(assets, 'kube-controller-manager');
  if (!existsSync(program)) throw new Error(`KUBEBUILDER_ASSETS has no kube-controller-manager: ${assets}`);
  return logged(folder, program, {
    kubeconfig,
    'leader-elect': 'false',
    'secure-port': '0',
    controllers: controllers.join(','),
    ...(hasDefaultLimits ? {} : { ...unlimited, 'concurrent-job-syncs': '20' }),
  });
}
