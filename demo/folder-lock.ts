import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A folder that is one run's alone: two runs at once would stop each other's database. */
export interface FolderLock {
  /** The lock holds until this process has ended as well, also when the run itself is killed. */
  addProcess(pid: number): Promise<void>;
  release(): Promise<void>;
}

/** Takes the lock of a folder; null when a run that is alive has it. A number taken over by another program counts as alive. */
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

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
