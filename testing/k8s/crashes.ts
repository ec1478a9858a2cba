import { inject } from 'vitest';
import { isAlive } from '#platform/commands/is-alive.ts';
import { KubeClient } from '#platform/kubernetes/client.ts';
import type { Program } from '../programs.ts';
import { adminCredentials, type Cleanup, newNamespace, server } from './cluster.ts';
import { FaultyProxy } from './faulty-proxy.ts';
import { openWorkplace } from './workers.ts';

// What the tests share that kill a controller at one of its writes.

/** The request lines of a kind of write, such as `PATCH mediajobs/status`. */
export function lineOf(write: string): RegExp {
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

/** Does every one of them, though one may throw. */
export async function cleaned(cleanups: readonly (() => void | Promise<void>)[]): Promise<void> {
  const faults: unknown[] = [];
  for (const clean of cleanups) {
    try {
      await clean();
    } catch (error) {
      faults.push(error);
    }
  }
  if (faults.length > 0) throw new AggregateError(faults, 'not everything could be cleaned up');
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
  return { admin, namespace, proxy, workplace, start };
}
