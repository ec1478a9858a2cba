import { type ChildProcess, spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { basename, join } from 'node:path';

// The processes of a control plane that a test run starts.

/** Starts a program whose output goes to `NAME.log` in the folder. */
export function logged(folder: string, program: string, flags: Readonly<Record<string, string>>): ChildProcess {
  const log = openSync(join(folder, `${basename(program)}.log`), 'a');
  const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  return spawn(program, args, { stdio: ['ignore', log, log] });
}

/** Ends the processes and removes the folder once this process has ended, even by SIGKILL: its input closes then. */
export function startGuard(folder: string, processes: readonly ChildProcess[]): ChildProcess {
  const script = 'cat >/dev/null; folder=$1; shift; kill -9 "$@" 2>/dev/null; sleep 1; rm -rf "$folder"';
  const args = ['-c', script, 'guard', folder, ...processes.map(({ pid }) => String(pid))];
  const guard = spawn('sh', args, { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  guard.unref();
  return guard;
}

/** Ends a process, by SIGKILL after five seconds. */
export async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const killer = setTimeout(() => child.kill('SIGKILL'), 5000);
  await exit;
  clearTimeout(killer);
}
