import { readFileSync } from 'node:fs';

/** The kernel's clock ticks in a second, in which /proc counts processor time. */
const ticksPerSecond = 100;

export interface ProcessorTime {
  /** The time of the process alone, its threads together, in steps of 10 ms. */
  readonly ownMs: number;
  /** The time of its children that have ended, and of theirs. */
  readonly endedMs: number;
}

/**
 * The processor time that a process has used; null where the system has no /proc, and once the process has ended. It is
 * read at once: files of /proc are in memory, and a thread pool would cost more than the read.
 */
export function processorTime(pid: number | 'self'): ProcessorTime | null {
  const stat = textOf(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // After the name, which may hold anything, comes the state; user and system time are the 12th and 13th from it on.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ms = (index: number) => ((Number(fields[index]) + Number(fields[index + 1])) * 1000) / ticksPerSecond;
  return { ownMs: ms(11), endedMs: ms(13) };
}

/** Null for what is not there. */
function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** The processor time of a process and everything that it has started; null as in `processorTime`. */
export function treeTimeMs(pid: number): number | null {
  const time = processorTime(pid);
  return time === null ? null : time.ownMs + time.endedMs + runningBelowMs(pid);
}

/** The processor time of everything that runs below a process now; 0 where the kernel does not list children. */
function runningBelowMs(pid: number): number {
  // Those that its first thread has started: Node starts processes from it alone, and tools start none.
  const children = (textOf(`/proc/${pid}/task/${pid}/children`) ?? '').split(' ').filter((child) => child !== '');
  return children.reduce((sum, child) => sum + (treeTimeMs(Number(child)) ?? 0), 0);
}

/** Measures the processor time of this process and of its children that have ended, from its start on. */
export class ProcessorMeter {
  #readMs = 0;

  /** The time since the last call, in milliseconds; null where the system has no /proc. */
  lapMs(): number | null {
    const time = processorTime('self');
    if (time === null) return null;
    const lapMs = time.ownMs + time.endedMs - this.#readMs;
    this.#readMs += lapMs;
    return Math.max(0, lapMs);
  }

  /** The time since the last call of `lapMs`, with that of the tools that run now; null as there. */
  soFarMs(): number | null {
    const usedMs = treeTimeMs(process.pid);
    return usedMs === null ? null : Math.max(0, usedMs - this.#readMs);
  }
}
