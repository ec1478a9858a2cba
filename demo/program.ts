import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

// `main.ts` as a child process that does not outlive the demo.

export type Mode = 'all' | 'server' | 'worker';

export interface RunningProgram {
  readonly pid: number;
  /** How it ended by itself, such as `with exit code 1`; null when it was stopped. */
  readonly ended: Promise<string | null>;
  /** Ends it without a chance to say so. The steps that it has started see that and end too. */
  kill(): void;
  /** Ends it and its child processes. */
  stop(): Promise<void>;
}

/** The service's own stop deadline is 20 s. */
const stopTimeoutMs = 25_000;

/** Starts `main.ts`; its output is added to the file `log`. */
export async function spawnProgram(o: {
  readonly checkout: string;
  readonly mode: Mode;
  readonly env: Readonly<Record<string, string>>;
  readonly log: string;
}): Promise<RunningProgram> {
  const log = await open(o.log, 'a', 0o600);
  // A process group of its own: Ctrl-C in a terminal signals the demo only, which then stops the service.
  const child = spawn(process.execPath, [join(o.checkout, 'main.ts'), `--mode=${o.mode}`], {
    cwd: o.checkout,
    env: o.env,
    stdio: ['ignore', log.fd, log.fd],
    detached: true,
  });
  let isStopping = false;
  // Listens before `await`, since the program may end at once.
  const ended = new Promise<string | null>((resolve) => {
    child.once('close', (code, signal) => {
      const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
      resolve(isStopping ? null : how);
    });
  });
  await once(child, 'spawn').finally(() => void log.close());
  const pid = child.pid ?? 0;
  const guard = startGuard(pid);
  return {
    pid,
    ended,
    kill: () => {
      child.kill('SIGKILL');
      // Its process id may be another program's later.
      guard.kill('SIGKILL');
    },
    stop: async () => {
      isStopping = true;
      child.kill('SIGTERM');
      const isStopped = await Promise.race([ended.then(() => true), sleep(stopTimeoutMs, false, { ref: false })]);
      if (!isStopped) killGroup(pid);
      await ended;
      guard.kill('SIGKILL');
    },
  };
}

/** Stops the program when the demo is killed: the guard's standard input closes then. */
function startGuard(pid: number): ChildProcess {
  const script = 'while read -r _; do :; done; kill -TERM "$1"; sleep 25; kill -KILL "-$1"';
  const stdio: ['pipe', 'ignore', 'ignore'] = ['pipe', 'ignore', 'ignore'];
  const guard = spawn('/bin/sh', ['-c', script, 'guard', String(pid)], { stdio, detached: true });
  guard.unref();
  return guard;
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has ended already.
  }
}
