import { readdir, readFile } from 'node:fs/promises';
import type { PodObject } from './objects.ts';

// The processes of the nodes, where the nodes share this machine: a paused process and a killed one cannot be had
// through the API server. Reading another's environment needs root.

export interface HostProcess {
  readonly pid: number;
  readonly name: string;
  readonly arguments: string;
  readonly environment: string;
  /** Where the kernel counts it; holds the id of its container. */
  readonly group: string;
}

/** Every process of this machine that can be read. */
export async function hostProcesses(): Promise<HostProcess[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  return Promise.all(
    pids.map(async (pid) => ({
      pid: Number(pid),
      // First: it may be gone before all is read, and what it was doing must not seem to be nobody's.
      group: await read(pid, 'cgroup'),
      name: (await read(pid, 'comm')).trim(),
      arguments: (await read(pid, 'cmdline')).replaceAll('\0', ' '),
      environment: await read(pid, 'environ'),
    })),
  );
}

/** Empty when the process is gone, or not ours to read. */
function read(pid: string, file: string): Promise<string> {
  return readFile(`/proc/${pid}/${file}`, 'latin1').catch(() => '');
}

/** The processes of a pod's container that runs, its first one first. */
export async function processesOf({ status }: PodObject): Promise<HostProcess[]> {
  const all = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  const id = all.find(({ state }) => state?.running !== undefined)?.containerID?.replace(/^\w+:\/\//, '');
  if (id === undefined) return [];
  return (await hostProcesses()).filter(({ group }) => group.includes(id)).toSorted((a, b) => a.pid - b.pid);
}

/** The API server that this cluster has, when it is one process of this machine. */
export async function apiServerPid(): Promise<number | null> {
  const found = (await hostProcesses()).filter(
    ({ name, arguments: text }) =>
      (name === 'kube-apiserver' || text.includes('kube-apiserver')) && /--secure-port[ =]6443\b/.test(text),
  );
  return found.length === 1 ? (found[0]?.pid ?? null) : null;
}
