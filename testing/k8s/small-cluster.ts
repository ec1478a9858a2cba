import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, openSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { KubeClient } from '#platform/kubernetes/client.ts';
import { kubeConfigFileCredentials } from '#platform/kubernetes/credentials.ts';
import { nodes as nodeResource } from '#platform/kubernetes/objects.ts';
import { type ApiServer, kubectl, startApiServer } from './api-server.ts';
import { stagesOf } from './kwok-stages.ts';

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
  /** How long each pod runs. */
  readonly podMs?: number;
  /** Whether its controllers ask the API server no faster than Kubernetes lets them by default: 20 times a second. */
  readonly hasDefaultLimits?: boolean;
}

/** Boots it, and waits until its nodes are ready; some ten seconds. */
export async function startSmallCluster({
  assets,
  nodes = 4,
  podMs = 200,
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
      stagesOf(podMs)
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

async function installCrds(server: ApiServer): Promise<void> {
  const crds = join(import.meta.dirname, '../../crds');
  await kubectl(server, ['apply', '--server-side', '-f', crds]);
  const names = ['mediajobs', 'mediaprofiles', 'mediarollouts', 'runnerpools'].map(
    (plural) => `crd/${plural}.reelwright.dev`,
  );
  await kubectl(server, ['wait', '--for=condition=Established', '--timeout=30s', ...names]);
}

interface ControllersInput {
  readonly assets: string;
  readonly folder: string;
  readonly kubeconfig: string;
  readonly stages: string;
  readonly hasDefaultLimits: boolean;
}

function startControllers({ assets, folder, kubeconfig, stages, hasDefaultLimits }: ControllersInput): ChildProcess[] {
  const shared = `--kubeconfig=${kubeconfig}`;
  const alone = ['--leader-elect=false', '--secure-port=0'];
  // Without their own limits, what is asked of the API server is all that holds them up.
  const fast = hasDefaultLimits ? [] : ['--kube-api-qps=1000', '--kube-api-burst=2000'];
  const syncs = hasDefaultLimits ? [] : ['--concurrent-job-syncs=20'];
  const controllers = 'job-controller,garbage-collector-controller,namespace-controller,ttl-after-finished-controller';
  const start = (name: string, ...args: string[]) => logged(folder, join(assets, name), [shared, ...args]);
  return [
    start('kube-controller-manager', ...alone, ...fast, `--controllers=${controllers}`, ...syncs),
    start('kube-scheduler', ...alone, ...fast),
    start('kwok', `--config=${stages}`, '--manage-all-nodes'),
  ];
}

function logged(folder: string, program: string, args: readonly string[]): ChildProcess {
  const log = openSync(join(folder, `${basename(program)}.log`), 'a');
  return spawn(program, args, { stdio: ['ignore', log, log] });
}

// A process that uses this may be killed without a word; the guard's standard input closes then.
function startGuard(folder: string, processes: readonly ChildProcess[]): ChildProcess {
  const script = 'cat >/dev/null; folder=$1; shift; kill -9 "$@" 2>/dev/null; rm -rf "$folder"';
  const args = ['-c', script, 'guard', folder, ...processes.map(({ pid }) => String(pid))];
  const guard = spawn('sh', args, { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  guard.unref();
  return guard;
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
