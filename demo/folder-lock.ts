import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive } from '#platform/commands/is-alive.ts';

/** Exclusive use of a folder: two runs in one folder would stop each other's database. */
export interface FolderLock {
  /** Keeps the lock until this process has ended too, even if the run itself is killed. */
  addProcess(pid: number): Promise<void>;
  release(): Promise<void>;
}

/**
 * Locks a folder; null when a living run holds the lock. A process id that another program has reused counts as living.
 */
export async function lockFolder(folder: string): Promise<FolderLock | null> {
  const file = join(folder, 'in-use-by');
  for (let attempt = 0; attempt < 3; attempt += 1) {
    try {
      await writeFile(file, `${process.pid}\n`, { flag: 'wx' });
      return {
        addProcess: (pid) => writeFile(file, `${pid}\n`, { flag: 'a' }),
        release: () => rm(file, { force: true }),
      };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const pids = (await readFile(file, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');
    if (pids.some((pid) => isAlive(Number(pid)))) return null;
    await rm(file, { force: true });
  }
  return null;
}
