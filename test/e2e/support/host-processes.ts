import { readdir, readFile } from 'node:fs/promises';
import type { PodObject } from './objects.ts';

// The processes of the nodes, where the nodes share this machine: the API server offers no way to pause or kill a
// process. Reading the environment of another user's process needs root.

export interface HostProcess {
  readonly pid: number;
  readonly name: string;
  readonly arguments: string;
  readonly environment: string;
  /** Its control group, which contains the id of its container. */
  readonly group: string;
}

/** Every process of this machine, or those that are wanted. */
export async function hostProcesses(isWanted: (pid: number) => boolean = () => true): Promise<HostProcess[]> {
  const names = await readdir('/proc').catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name) && isWanted(Number(name)));
  return Promise.all(
    pids.map(async (pid) => ({
      pid: Number(pid),
      // Read first: when the process ends meanwhile, the rest is still attributed to its container.
      group: await read(pid, 'cgroup'),
      name: (await read(pid, 'comm')).trim(),
      arguments: (await read(pid, 'cmdline')).replaceAll('\0', ' '),
      environment: await read(pid, 'environ'),
    })),
  );
}

/** Empty when the process has ended or may not be read. */
function read(pid: string, file: string): Promise<string> {
  return readFile(`/proc/${pid}/${file}`, 'latin1').catch(() => '');
}

/** The processes of the pod's running container, in the order of their start. */
export async function processesOf({ status }: PodObject): Promise<HostProcess[]> {
  const all = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  const id = all.find(({ state }) => state?.running !== undefined)?.containerID?.replace(/^\w+:\/\//, '');
  if (id === undefined) return [];
  return (await hostProcesses()).filter(({ group }) => group.includes(id)).toSorted((a, b) => a.pid - b.pid);
}
