import { readdir } from 'node:fs/promises';
import { getPriority, setPriority } from 'node:os';
import { join } from 'node:path';

/**
 * Changes the priority of a program that has a machine of its own in practice: lower, if it is behind what is measured,
 * or higher. Of all its threads, since Linux has a priority for each; later ones inherit it.
 */
export async function renice(pid: number, by: number): Promise<void> {
  for (const thread of await readdir(join('/proc', `${pid}`, 'task'))) setPriority(Number(thread), getPriority() + by);
}
