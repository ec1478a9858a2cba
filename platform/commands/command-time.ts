import { processorTime, treeTimeMs } from './processor-time.ts';

/*
 * The kernel counts a process that has ended to the parent that waited for it, with all that the process had waited
 * for itself. So the count of a child at its end is what the count of all ended children grew by since commands run: what
 * ended before the first of them is nobody's. A tool that is killed with its runner has nobody who waits for it, and is
 * known by the last reading of the tree.
 */

/** The processor time of a command: its process and everything below it. */
export class CommandTime {
  #pid: number | null = null;
  #usedMs: number | null = null;

  begin(pid: number): void {
    if (uncountedCommands === 0) countedMs = processorTime('self')?.endedMs ?? 0;
    uncountedCommands += 1;
    this.#pid = pid;
  }

  /** What it has used so far, which never falls; null where the system has no /proc. */
  readMs(): number | null {
    const readMs = this.#pid === null ? null : treeTimeMs(this.#pid);
    if (readMs !== null) this.#usedMs = Math.max(readMs, this.#usedMs ?? 0);
    return this.#usedMs;
  }

  /** Counts it to its end. It is called at the event `exit`; resolves once `readMs` is final. */
  async end(): Promise<void> {
    this.#pid = null;
    const usedMs = await finalMs(this.#usedMs ?? 0);
    if (usedMs !== null) this.#usedMs = usedMs;
  }
}

interface Ended {
  /** By the last reading. */
  readonly usedMs: number;
  readonly resolve: (usedMs: number | null) => void;
}

/** The time of ended children up to which every command is counted. */
let countedMs = 0;
/** Commands that have begun and are not counted to their end. */
let uncountedCommands = 0;
let ended: Ended[] = [];

/** The whole time of a child that has just ended; null where the system has no /proc. */
function finalMs(usedMs: number): Promise<number | null> {
  const { promise, resolve } = Promise.withResolvers<number | null>();
  ended.push({ usedMs, resolve });
  // Children whose ends are seen together have their events in the same turn.
  if (ended.length === 1) setImmediate(countEnded);
  return promise;
}

/** Children that end at once share equally what no reading had. */
function countEnded(): void {
  const together = ended;
  ended = [];
  uncountedCommands -= together.length;
  const time = processorTime('self');
  if (time === null) return together.forEach(({ resolve }) => resolve(null));
  const readMs = together.reduce((sum, { usedMs }) => sum + usedMs, 0);
  const unreadMs = Math.max(0, time.endedMs - countedMs - readMs);
  countedMs = time.endedMs;
  for (const { usedMs, resolve } of together) resolve(usedMs + unreadMs / together.length);
}
