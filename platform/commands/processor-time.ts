import { readFile } from 'node:fs/promises';

/** The kernel's clock ticks in a second, in which /proc counts processor time. */
const ticksPerSecond = 100;

export interface ProcessorTime {
  /** The time of the process alone, its threads together, in steps of 10 ms. */
  readonly ownMs: number;
  /** The time of its children that have ended, and of theirs. */
  readonly endedMs: number;
}

/** The processor time that a process has used. @throws Error where the system has no /proc, or the process has ended */
export async function processorTime(pid: number | 'self'): Promise<ProcessorTime> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // After the name, which may hold anything, comes the state; user and system time are the 12th and 13th from it on.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ms = (index: number) => ((Number(fields[index]) + Number(fields[index + 1])) * 1000) / ticksPerSecond;
  return { ownMs: ms(11), endedMs: ms(13) };
}

/** The processor time of everything that runs below a process now; 0 where the kernel does not list children. */
async function runningBelowMs(pid: number): Promise<number> {
  // Those that its first thread has started: Node starts processes from it alone, and tools start none.
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  const times = children.split(' ').flatMap((child) => (child === '' ? [] : [treeMs(Number(child))]));
  return (await Promise.all(times)).reduce((sum, ms) => sum + ms, 0);
}

/** 0 for a process that has ended meanwhile. */
async function treeMs(pid: number): Promise<number> {
  const [time, belowMs] = await Promise.all([processorTime(pid).catch(() => null), runningBelowMs(pid)]);
  return belowMs + (time === null ? 0 : time.ownMs + time.endedMs);
}

/** Measures the processor time of this process and of its children that have ended, from its start on. */
export class ProcessorMeter {
  #readMs = 0;

  /** The time since the last call, in milliseconds; null where the system has no /proc. */
  async lapMs(): Promise<number | null> {
    const time = await processorTime('self').catch(() => null);
    if (time === null) return null;
    const lapMs = time.ownMs + time.endedMs - this.#readMs;
    this.#readMs += lapMs;
    return Math.max(0, lapMs);
  }

  /** The time since the last call of `lapMs`, with that of the tools that run now; null as there. */
  async soFarMs(): Promise<number | null> {
    const time = await processorTime('self').catch(() => null);
    if (time === null) return null;
    return Math.max(0, time.ownMs + time.endedMs + (await runningBelowMs(process.pid)) - this.#readMs);
  }
}
