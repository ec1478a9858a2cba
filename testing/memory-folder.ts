import { mkdirSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive } from '#platform/commands/is-alive.ts';

const memory = '/dev/shm';
const prefix = 'reelwright-tests-';
/** The service tier takes up half a gibibyte at a time; tests of the deep tier with large files, more. */
const neededBytes = 6 * 2 ** 30;

/**
 * Gives a run of tests a folder for temporary files that is in memory, where there is enough of it: hundreds of
 * databases and buckets are made and removed, and on a disk a copy of the database alone takes 0.4 processor seconds.
 * The folder goes when the process ends; what killed runs left goes at the next start. A `TMPDIR` of the caller's stays.
 */
export function useMemoryForTemporaryFiles(): void {
  if (process.env['TMPDIR'] !== undefined || !isRoomy()) return;
  removeThoseOfEndedRuns();
  const folder = join(memory, `${prefix}${process.pid}`);
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  process.env['TMPDIR'] = folder;
  process.once('exit', () => remove(folder));
}

/** Tests start programs that they write: a container's `/dev/shm` is small, and may forbid that. */
function isRoomy(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memory);
    const mount = readFileSync('/proc/mounts', 'utf8').match(new RegExp(`^\\S+ ${memory} tmpfs (\\S+)`, 'm'));
    const options = mount?.[1]?.split(',') ?? ['noexec'];
    return bavail * bsize >= neededBytes && process.availableMemory() >= neededBytes && !options.includes('noexec');
  } catch {
    // No such folder.
    return false;
  }
}

function removeThoseOfEndedRuns(): void {
  for (const name of readdirSync(memory))
    if (name.startsWith(prefix) && !isAlive(Number(name.slice(prefix.length)))) remove(join(memory, name));
}

function remove(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    // A server that is being killed may still write there: the next run removes the rest.
  }
}
