import { homedir } from 'node:os';
import { join } from 'node:path';
import { existsSync } from 'node:fs';
import { KubeClient } from '#platform/kubernetes/client.ts';
import { kubeConfigFileCredentials, serviceAccountCredentials } from '#platform/kubernetes/credentials.ts';
import { UsageError } from './exit-codes.ts';
import type { Env } from './settings.ts';

/** A client of the cluster that `KUBECONFIG` names, of the one that this pod runs in, or of kubectl's default. */
export async function openKubeClient(env: Env): Promise<KubeClient> {
  const { KUBECONFIG: paths = '', KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '443' } = env;
  if (paths === '' && host !== '') return new KubeClient(serviceAccountCredentials({ host, port }));
  const usual = join(env['HOME'] ?? homedir(), '.kube/config');
  const chosen = paths || (existsSync(usual) ? usual : '');
  if (chosen === '') throw new UsageError('KUBECONFIG: expected a file that names a cluster, found nothing');
  try {
    return new KubeClient(await kubeConfigFileCredentials(chosen));
  } catch (error) {
    throw new UsageError(`KUBECONFIG: ${(error as Error).message}`);
  }
}
