import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rmdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Where cgroups are mounted: version 2 alone or beside version 1, whose accounting of processors is the last. */
const roots = ['/sys/fs/cgroup', '/sys/fs/cgroup/unified', '/sys/fs/cgroup/cpuacct'];

export interface Cgroup {
  /** A process that writes 0 to it, and everything that it starts from then on, is counted. */
  readonly procs: string;
  /** The processor time of all that ran in it. */
  readonly usedMs: () => Promise<number>;
  /** The processes that run in it. */
  readonly pids: () => Promise<number[]>;
  readonly remove: () => Promise<void>;
}

/** A cgroup that counts processor time; null where none can be made, which needs root. */
export async function openCgroup(): Promise<Cgroup | null> {
  for (const root of roots) {
    const folder = join(root, `reelwright-${randomUUID()}`);
    if (!(await isMade(folder))) continue;
    const procs = join(folder, 'cgroup.procs');
    const group = {
      procs,
      usedMs: () => usedMsOf(folder),
      pids: async () => (await readFile(procs, 'utf8')).split('\n').filter(Boolean).map(Number),
      remove: () => rmdir(folder),
    };
    if ((await group.usedMs().catch(() => null)) !== null) return group;
    await group.remove();
  }
  return null;
}

async function isMade(folder: string): Promise<boolean> {
  return mkdir(folder).then(
    () => true,
    () => false,
  );
}

async function usedMsOf(folder: string): Promise<number> {
  const stat = await readFile(join(folder, 'cpu.stat'), 'utf8').catch(() => null);
  const usec = /^usage_usec (\d+)$/m.exec(stat ?? '')?.[1];
  return usec === undefined ? Number(await readFile(join(folder, 'cpuacct.usage'), 'utf8')) / 1e6 : Number(usec) / 1000;
}
