import { inject } from 'vitest';
import { isAlive } from '#platform/commands/is-alive.ts';
import { KubeClient } from '#platform/kubernetes/client.ts';
import { leases } from '#platform/kubernetes/objects.ts';
import type { Program } from '../programs.ts';
import { adminCredentials, type Cleanup, newNamespace, server } from './cluster.ts';
import { FaultyProxy } from './faulty-proxy.ts';
import { proxiedKubeconfig } from './kubeconfig.ts';
import { openWorkplace } from './workers.ts';

// What the tests share that kill a controller at one of its writes.

/** The request lines of a kind of write, such as `PATCH mediajobs/status`. */
function requestLine(write: string): RegExp {
  const [method, resource = ''] = write.split(' ');
  const [plural, subresource] = resource.split('/');
  const name = method === 'POST' ? '' : '/[^/?]+';
  return new RegExp(`^${method} \\S+/namespaces/[^/]+/${plural}${name}${subresource ? `/${subresource}` : ''}(\\?|$)`);
}

/** `PATCH /apis/reelwright.dev/v1alpha1/namespaces/x/mediajobs/mj-1/status?…` is `PATCH mediajobs/status`. */
export function kindOf(line: string): string {
  const [method = '', url = ''] = line.split(' ');
  const [path = ''] = url.split('?');
  const [resource = '', , subresource] = path.replace(/^.*\/namespaces\/[^/]+\//, '').split('/');
  return `${method} ${resource}${subresource === undefined ? '' : `/${subresource}`}`;
}

/** A namespace, a database, and a proxy before the API server; `start` starts a worker with `variables` and its own. */
export async function openCrashScene(cleanup: Cleanup, variables: Readonly<Record<string, string>>) {
  const admin = new KubeClient(adminCredentials());
  cleanup(() => admin.close());
  const namespace = await newNamespace(admin);
  const proxy = await FaultyProxy.open();
  cleanup(() => proxy.close());
  const postgres = inject('postgres');
  if (!postgres) throw new Error('no PostgreSQL was started for this run');
  const workplace = await openWorkplace({
    postgresUrl: postgres.url,
    template: postgres.migratedTemplate,
    kubeconfigPath: server.kubeconfigPath,
    namespace,
  });
  cleanup(() => workplace.close());
  const programs: Program[] = [];
  const start = async (env: Record<string, string> = {}) => {
    const program = await workplace.start({ ...variables, ...env });
    programs.push(program);
    return program;
  };
  cleanup(async () => {
    for (const program of programs) if (isAlive(program.pid)) program.signal('SIGKILL');
    await Promise.all(programs.map(({ ended }) => ended));
  });
  /** Starts a worker behind the proxy. */
  const startProxied = async () => start({ KUBECONFIG: await proxiedKubeconfig(proxy.url, cleanup) });
  /** Ends a term at once: the time until a dead leader's lease runs out is lease.test.ts's matter. */
  const freeLease = async () => {
    const lease = { namespace, name: 'reelwright-controller' };
    await admin.mergePatch(leases, lease, { spec: { holderIdentity: '' } }).catch(() => undefined);
  };
  return { admin, namespace, proxy, workplace, start, startProxied, freeLease };
}

export type CrashScene = Awaited<ReturnType<typeof openCrashScene>>;

/** A write at which the controller is killed: before the API server has it, or once it is done and unanswered. */
export interface Crash {
  readonly write: string;
  readonly nth: number;
  readonly when: 'before' | 'after';
}

/** Starts a worker, which is killed at a write, and then another. Throws when `ended` comes first. */
export async function crashOnce(scene: CrashScene, { write, nth, when }: Crash, ended: Promise<unknown>) {
  const crashed = Promise.withResolvers<void>();
  let victim: Program | undefined;
  const spring = () => {
    victim?.signal('SIGKILL');
    crashed.resolve();
  };
  scene.proxy.trap({ matches: requestLine(write), nth, when, spring });
  victim = await scene.startProxied();
  await Promise.race([crashed.promise, ended.then(() => Promise.reject(new Error(`it ended without ${write}`)))]);
  // It may have crashed while it was being started.
  if (isAlive(victim.pid)) victim.signal('SIGKILL');
  await victim.ended;
  await scene.freeLease();
  await scene.start();
}
