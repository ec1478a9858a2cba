import { createHash } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isAlive } from '#platform/commands/is-alive.ts';
import type { Logger } from '#platform/telemetry/logger.ts';

/**
 * A workspace is named after the machine and the process that made it, so that a starting worker can remove the
 * workspaces of a killed one. Containers that share a folder may have equal process ids, hence the machine; a restarted
 * container's worker has the same id again, hence the start time.
 */
export function workspacePrefix(): string {
  return `${prefixOfMachine()}${process.pid}.${startedAt}-`;
}

/** The end of the name of a worker's compile cache, which is removed like a workspace. */
export const compileCacheName = 'compile-cache';

const startedAt = Math.floor(performance.timeOrigin);

function prefixOfMachine(): string {
  return `reelwright-${createHash('sha256').update(hostname()).digest('hex').slice(0, 8)}-`;
}

/** Removes the workspaces of this machine's processes that no longer run. */
export async function removeAbandonedWorkspaces(workDir: string, log: Logger): Promise<void> {
  const prefix = prefixOfMachine();
  for (const name of await readdir(workDir)) {
    if (!name.startsWith(prefix)) continue;
    const [, pid, start] = /^(\d+)(?:\.(\d+))?-/.exec(name.slice(prefix.length)) ?? [];
    if (pid === undefined) continue;
    const isOwn = Number(pid) === process.pid;
    if (isOwn ? Number(start) === startedAt : isAlive(Number(pid))) continue;
    await rm(join(workDir, name), { recursive: true, force: true });
    log.info({ workspace: name }, 'abandoned workspace removed');
  }
}
