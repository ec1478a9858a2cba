import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeClient } from '#platform/kubernetes/client.ts';
import { kubeConfigFileCredentials } from '#platform/kubernetes/credentials.ts';
import { nodes as nodeResource } from '#platform/kubernetes/objects.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { startControllerManager, unlimited } from './controller-manager.ts';
import { installCrds } from './crds.ts';
import { stagesOf } from './kwok-stages.ts';
import { logged, startGuard } from './processes.ts';

// A cluster with everything but nodes: an API server of its own, the controllers of Jobs, garbage, namespaces and times
// to live, the scheduler, and kwok, which says of every pod on a fake node that it runs, and a moment later that it has
// succeeded. Nothing in it runs a container.

/** The missing binaries besides the API server's; null: all are there. */
export function missingFromAssets(assets: string): string | null {
  const programs = ['etcd', 'kube-apiserver', 'kubectl', 'kube-controller-manager', 'kube-scheduler', 'kwok'];
  const absent = programs.filter((name) => !existsSync(join(assets, name)));
  return absent.length === 0 ? null : `KUBEBUILDER_ASSETS has no ${absent.join(', ')}`;
}

export interface SmallCluster {
  readonly server: ApiServer;
  /** The administrator. */
  readonly admin: KubeClient;
  readonly stop: () => Promise<void>;
}

interface SmallClusterOptions {
  readonly assets: string;
  readonly nodes?: number;
  /** Whether its controllers ask the API server no faster than Kubernetes lets them by default: 20 times a second. */
  readonly hasDefaultLimits?: boolean;
}

/** Boots it, and waits until its nodes are ready; some ten seconds. */
export async function startSmallCluster({
  assets,
  nodes = 4,
  hasDefaultLimits = false,
}: SmallClusterOptions): Promise<SmallCluster> {
  const missing = missingFromAssets(assets);
  if (missing !== null) throw new Error(missing);
  const server = await startApiServer(assets);
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-cluster-'));
  const processes: ChildProcess[] = [];
  const admin = new KubeClient(await kubeConfigFileCredentials(server.kubeconfigPath));
  let guard: ChildProcess | undefined;
  const stop = async () => {
    for (const child of processes) child.kill('SIGKILL');
    guard?.kill('SIGKILL');
    await admin.close();
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await installCrds(server);
    const stages = join(folder, 'kwok.json');
    await writeFile(
      stages,
      stagesOf()
        .map((each) => JSON.stringify(each))
        .join('\n---\n'),
    );
    processes.push(
      ...startControllers({ assets, folder, kubeconfig: server.kubeconfigPath, stages, hasDefaultLimits }),
    );
    guard = startGuard(folder, processes);
    for (let n = 1; n <= nodes; n += 1) await makeNode(admin, `node-${n}`);
    return { server, admin, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface ControllersInput {
  readonly assets: string;
  readonly folder: string;
  readonly kubeconfig: string;
  readonly stages: string;
  readonly hasDefaultLimits: boolean;
}

function startControllers({ stages, ...input }: ControllersInput): ChildProcess[] {
  const { assets, folder, kubeconfig, hasDefaultLimits } = input;
  const limits = hasDefaultLimits ? {} : unlimited;
  const scheduler = { kubeconfig, 'leader-elect': 'false', 'secure-port': '0', ...limits };
  return [
    startControllerManager(input),
    logged(folder, join(assets, 'kube-scheduler'), scheduler),
    logged(folder, join(assets, 'kwok'), { kubeconfig, config: stages, 'manage-all-nodes': 'true' }),
  ];
}

/** A node that is ready, with room for a thousand pods. No controller about minds that no kubelet speaks for it. */
async function makeNode(admin: KubeClient, name: string): Promise<void> {
  const annotations = { 'kwok.x-k8s.io/node': 'fake' };
  await admin.create(nodeResource, { metadata: { name, annotations, labels: { 'kubernetes.io/hostname': name } } });
  const at = new Date().toISOString();
  const room = { cpu: '1000', memory: '4Ti', pods: '1000', 'ephemeral-storage': '10Ti' };
  const ready = { type: 'Ready', status: 'True', reason: 'Fake', lastHeartbeatTime: at, lastTransitionTime: at };
  const status = { capacity: room, allocatable: room, conditions: [ready], phase: 'Running' };
  await admin.mergePatch(nodeResource, { name }, { status }, { subresource: 'status' });
  // Every new node is tainted as not ready; the controller that would see that it is has no part here.
  await admin.mergePatch(nodeResource, { name }, { spec: { taints: null } });
}
