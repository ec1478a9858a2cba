import type { ChildProcess } from 'node:child_process';

/** How long a program may take to end by itself after SIGTERM. */
const killDelayMsDefault = 3000;
/** How long a pipe is read that a process outside the group holds open; the rest is given up. */
const drainMs = 1000;

/**
 * Groups that still run. This process kills them when it exits; when it is killed, its tools end by their closed pipes.
 */
const running = new Set<ProcessGroup>();

function killAll(): void {
  for (const group of running) group.kill();
}

/** The process group of a child that was spawned with `detached`: its pid is the group's id. */
export class ProcessGroup {
  readonly #child: ChildProcess;
  readonly #killDelayMs: number;
  #killTimer: NodeJS.Timeout | undefined;
  #drainTimer: NodeJS.Timeout | undefined;

  constructor(child: ChildProcess, killDelayMs = killDelayMsDefault) {
    this.#child = child;
    this.#killDelayMs = killDelayMs;
    if (running.size === 0) process.once('exit', killAll);
    running.add(this);
    child.once('exit', () => {
      // What the program left behind has no one to end it, and would hold the pipes open.
      this.kill();
      this.#drainTimer = setTimeout(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
      }, drainMs);
    });
  }

  /** SIGTERM now, SIGKILL after the delay; asking again changes nothing. */
  stop(): void {
    if (this.#killTimer !== undefined) return;
    this.#signal('SIGTERM');
    this.#killTimer = setTimeout(() => this.kill(), this.#killDelayMs);
  }

  kill(): void {
    this.#signal('SIGKILL');
  }

  /** Forgets the group once its program has ended. */
  release(): void {
    clearTimeout(this.#killTimer);
    clearTimeout(this.#drainTimer);
    running.delete(this);
    if (running.size === 0) process.removeListener('exit', killAll);
  }

  #signal(signal: NodeJS.Signals): void {
    try {
      if (this.#child.pid !== undefined) process.kill(-this.#child.pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}
