import { createHash } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isAlive } from '#platform/commands/is-alive.ts';
import type { Logger } from '#platform/telemetry/logger.ts';

/**
 * Workspaces bear the machine and the process that made them, so that a worker that starts can remove what a killed
 * one left. The machine is part of it, since a folder may be shared between containers that see the same process ids
 * for different processes.
 */
export function workspacePrefix(pid: number): string {
  return `${prefixOfMachine()}${pid}-`;
}

function prefixOfMachine(): string {
  return `reelwright-${createHash('sha256').update(hostname()).digest('hex').slice(0, 8)}-`;
}

/** Removes the workspaces of processes of this machine that are no more. */
export async function removeLeftWorkspaces(workDir: string, log: Logger): Promise<void> {
  const prefix = prefixOfMachine();
  for (const name of await readdir(workDir)) {
    if (!name.startsWith(prefix)) continue;
    const pid = Number(/^\d+(?=-)/.exec(name.slice(prefix.length))?.[0]);
    if (!Number.isSafeInteger(pid) || isAlive(pid)) continue;
    log.info({ workspace: name }, 'removing the workspace of a worker that is no more');
    await rm(join(workDir, name), { recursive: true, force: true });
  }
}
