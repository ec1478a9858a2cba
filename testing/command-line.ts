import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { checkout, compileCache } from './checkout.ts';

// `reelwright`, the command line, as a process of its own with a home folder of its own.

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Standard output as the one JSON document that `--json` promises. */
  // oxlint-disable-next-line typescript/no-explicit-any -- a test says what it expects of it
  readonly json: any;
}

interface CommandOptions {
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Runs it on a terminal (`script` of util-linux); `stdout` then has what is shown, `stderr` nothing. */
  readonly onTerminal?: boolean;
  /** Called with the id of the process. */
  readonly onStart?: (pid: number) => void;
  /** Called with each piece of standard output. */
  readonly onOutput?: (text: string) => void;
}

export interface CommandLine {
  readonly home: string;
  run(args: readonly string[], options?: CommandOptions): Promise<CommandResult>;
  close(): Promise<void>;
}

/** `env`: what every call has beside PATH and HOME. */
export async function openCommandLine(env: Readonly<Record<string, string>>): Promise<CommandLine> {
  const home = await mkdtemp(join(tmpdir(), 'reelwright-home-'));
  return {
    home,
    run: async (args, options = {}) => {
      const command = [process.execPath, join(checkout, 'cli/main.ts'), ...args];
      const quoted = command.map((each) => `'${each.replaceAll("'", `'\\''`)}'`).join(' ');
      const [program = '', ...rest] = options.onTerminal ? ['script', '-qefc', quoted, '/dev/null'] : command;
      const child = spawn(program, rest, {
        cwd: home,
        env: {
          PATH: `${join(checkout, 'node_modules/.bin')}:${process.env['PATH'] ?? ''}`,
          HOME: home,
          NODE_COMPILE_CACHE: compileCache,
          ...env,
          ...options.env,
        },
        stdio: ['pipe', 'pipe', 'pipe'],
      });
      options.onStart?.(child.pid ?? 0);
      child.stdin.on('error', () => {});
      child.stdout.on('data', (chunk: Buffer) => options.onOutput?.(chunk.toString()));
      child.stdin.end(options.stdin ?? '');
      const code = new Promise<number | null>((resolve) => child.once('close', resolve));
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
      return {
        code: await code,
        stdout,
        stderr,
        get json() {
          return JSON.parse(stdout) as unknown;
        },
      };
    },
    close: () => rm(home, { recursive: true, force: true }),
  };
}
