import { readFile } from 'node:fs/promises';

/** The memory of a process, in bytes: `VmRSS` is what it has, `VmHWM` the most that it had. */
export async function memoryOf(pid: number, line: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${line}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024;
}
