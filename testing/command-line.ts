import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { runCommandLine } from '../cli/run-command-line.ts';
import { checkout, compileCache } from './checkout.ts';

// `reelwright`, the command line, with a home folder of its own. It runs in the process of the test, because the start
// of a process takes more processor time than most commands; where the process is the point, it runs as one.

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Standard output as the one JSON document that `--json` promises. */
  // oxlint-disable-next-line typescript/no-explicit-any -- a test says what it expects of it
  readonly json: any;
}

export interface CommandOptions {
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Runs it as a separate process, as each of the options below does too. */
  readonly asProcess?: boolean;
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

/**
 * `env`: what every call has beside PATH and HOME. Until `close`, the home folder is the current folder of the test's
 * process, because commands look up relative file names there.
 */
export async function openCommandLine(env: Readonly<Record<string, string>>): Promise<CommandLine> {
  const home = await mkdtemp(join(tmpdir(), 'reelwright-home-'));
  const folderBefore = process.cwd();
  process.chdir(home);
  const PATH = `${join(checkout, 'node_modules/.bin')}:${process.env['PATH'] ?? ''}`;
  return {
    home,
    run: async (args, options = {}) => {
      const { asProcess, onTerminal, onStart, onOutput } = options;
      const isProcess = asProcess || onTerminal || onStart !== undefined || onOutput !== undefined;
      const call = { args, home, options, env: { PATH, HOME: home, ...env, ...options.env } };
      const { code, stdout, stderr } = await (isProcess ? runAsProcess(call) : runHere(call));
      return {
        code,
        stdout,
        stderr,
        get json() {
          return JSON.parse(stdout) as unknown;
        },
      };
    },
    close: async () => {
      process.chdir(folderBefore);
      await rm(home, { recursive: true, force: true });
    },
  };
}

interface CommandCall {
  readonly args: readonly string[];
  readonly home: string;
  readonly options: CommandOptions;
  /** All that the command sees of the environment. */
  readonly env: Readonly<Record<string, string>>;
}

type Printed = Omit<CommandResult, 'json'>;

async function runHere({ args, options, env }: CommandCall): Promise<Printed> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const printed = Promise.all([text(stdout), text(stderr)]);
  const host = { env, stdin: Readable.from([options.stdin ?? '']), stdout, stderr };
  const code = await runCommandLine(args, host, new AbortController().signal);
  stdout.end();
  stderr.end();
  const [result, errors] = await printed;
  return { code, stdout: result, stderr: errors };
}

async function runAsProcess({ args, home, options, env }: CommandCall): Promise<Printed> {
  const command = [process.execPath, join(checkout, 'cli/main.ts'), ...args];
  const quoted = command.map((each) => `'${each.replaceAll("'", `'\\''`)}'`).join(' ');
  const [program = '', ...rest] = options.onTerminal ? ['script', '-qefc', quoted, '/dev/null'] : command;
  const child = spawn(program, rest, {
    cwd: home,
    env: { NODE_COMPILE_CACHE: compileCache, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  options.onStart?.(child.pid ?? 0);
  child.stdin.on('error', () => {});
  child.stdout.on('data', (chunk: Buffer) => options.onOutput?.(chunk.toString()));
  child.stdin.end(options.stdin ?? '');
  const code = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await code, stdout, stderr };
}
