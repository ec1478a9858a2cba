import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { processorTime } from '#platform/commands/processor-time.ts';

const run = promisify(execFile);

/** What a process has used. */
export function cpuMs(pid: number): number {
  const time = processorTime(pid);
  if (time === null) throw new Error(`no processor time of process ${pid} in /proc`);
  return time.ownMs;
}

interface ProgramTree {
  readonly pid: number;
  readonly descendants: () => Promise<number[]>;
}

/** What `work` returns, and the processor time that a program and all that it started use meanwhile. */
export async function withTreeCpu<T>(
  program: ProgramTree,
  work: () => Promise<T>,
): Promise<{ result: T; cpuMs: number }> {
  const beforeMs = await treeCpuMs(program);
  const result = await work();
  return { result, cpuMs: (await treeCpuMs(program)) - beforeMs };
}

/** What a process, everything that it started and everything that those started have used. */
async function treeCpuMs(program: ProgramTree): Promise<number> {
  const pids = [program.pid, ...(await program.descendants())];
  const times = pids.map((pid) => processorTime(pid));
  return times.reduce((sum, time) => sum + (time === null ? 0 : time.ownMs + time.endedMs), 0);
}

function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Runs commands one after another to their ends; their processor time, by the shell's own count of its children. */
export async function commandsCpuMs(
  commands: readonly { readonly program: string; readonly args: readonly string[] }[],
  cwd: string,
): Promise<number> {
  const lines = commands.map(({ program, args }) => [program, ...args].map(quote).join(' '));
  const { stdout } = await run('sh', ['-c', `set -e\n${lines.join('\n')}\ntimes`], { cwd });
  // The last line: user and system time of the children, as 0m0.690000s.
  const parts = [...(stdout.trim().split('\n').at(-1) ?? '').matchAll(/(\d+)m([\d.]+)s/g)];
  if (parts.length !== 2) throw new Error(`expected the times of the children, found ${stdout}`);
  return parts.reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60_000 + Number(seconds) * 1000, 0);
}
