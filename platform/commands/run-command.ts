import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { type Command, mask } from './command.ts';
import { CommandTime } from './command-time.ts';
import { LineReader } from './line-reader.ts';
import { OutputHead, OutputTail, tailOf } from './output.ts';
import { ProcessGroup } from './process-group.ts';
import { redact } from '#domain/redact.ts';

export interface RunOptions {
  /** Stops the command; the call then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** After it the command is stopped, and the outcome says `timedOut`. */
  readonly timeoutMs: number;
  /** How long a stopped command may take to end by itself before it is killed, 3 s by default. */
  readonly killDelayMs?: number | undefined;
  readonly cwd?: string | undefined;
  /** The command's whole environment; PATH alone by default. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly stdin?: 'ignore' | Readable | undefined;
  /** Called with each line as it comes, without its end, at most 64 kB of it. */
  readonly onStdoutLine?: ((line: string) => void) | undefined;
  readonly onStderrLine?: ((line: string) => void) | undefined;
  /** Measures the command. */
  readonly time?: CommandTime | undefined;
  /** How much of stdout is returned, 1 MiB by default; the rest is read and dropped. */
  readonly stdoutBytesMax?: number | undefined;
}

export interface CommandOutcome {
  /** Null when a signal ended it. */
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  /** The end of stderr: at most 4 kB, secrets masked and redacted. */
  readonly stderrTail: string;
  readonly timedOut: boolean;
}

const stdoutBytesMaxDefault = 1024 * 1024;
const stderrTailBytes = 4096;

/**
 * Runs a command without a shell, in a process group of its own, to its end.
 *
 * An abort or the timeout sends SIGTERM to the whole group and SIGKILL `killDelayMs` later; when the command ends by
 * itself, what it left running in its group is killed. An exit code other than 0 is an outcome, not an error.
 *
 * @throws the reason of `signal`; what a callback or `stdin` throws; Error when the program cannot be started
 */
export async function runCommand(command: Command, options: RunOptions): Promise<CommandOutcome> {
  options.signal?.throwIfAborted();
  const child = spawn(command.program, command.args, {
    cwd: options.cwd,
    env: options.env ?? {},
    stdio: [typeof options.stdin === 'object' ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const ended = endOf(child, command);
  const counted = countOf(child, options.time ?? new CommandTime());
  if (child.pid === undefined) await ended;
  const group = new ProcessGroup(child, options.killDelayMs);
  const failures: unknown[] = [];
  const fail = (error: unknown) => {
    failures.push(error);
    group.stop();
  };
  const stdout = new OutputHead(options.stdoutBytesMax ?? stdoutBytesMaxDefault);
  // Twice what is returned, since masking makes it shorter.
  const stderr = new OutputTail(2 * stderrTailBytes);
  readOutput(child.stdout, stdout, options.onStdoutLine, fail);
  readOutput(child.stderr, stderr, options.onStderrLine, fail);
  if (typeof options.stdin === 'object') feed(options.stdin, child, fail);

  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    group.stop();
  }, options.timeoutMs);
  const onAbort = () => group.stop();
  options.signal?.addEventListener('abort', onAbort, { once: true });
  try {
    const { exitCode, signal } = await ended;
    await counted;
    options.signal?.throwIfAborted();
    if (failures.length > 0) throw failures[0];
    const stderrTail = tailOf(redact(mask(stderr.text(), command.secrets ?? [])), stderrTailBytes);
    return { exitCode, signal, stdout: stdout.text(), stderrTail, timedOut };
  } finally {
    clearTimeout(timer);
    options.signal?.removeEventListener('abort', onAbort);
    group.release();
  }
}

/** Resolves once the processor time of a command that has ended is known. Each command is counted, also for the others. */
async function countOf(child: ChildProcess, time: CommandTime): Promise<void> {
  if (child.pid === undefined) return;
  time.begin(child.pid);
  await new Promise((resolve) => child.once('exit', resolve));
  await time.end();
}

/** Settles once the program has ended and both its outputs were read to their ends. */
async function endOf(
  child: ChildProcess,
  { program }: Command,
): Promise<{ exitCode: number | null; signal: NodeJS.Signals | null }> {
  try {
    const [exitCode, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    return { exitCode, signal };
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new Error(`cannot start ${program}: ${code === 'ENOENT' ? 'no such program' : code}`, { cause });
  }
}

/** Reads an output to its end whatever happens: a program must not block on a full pipe. */
function readOutput(
  output: Readable | null,
  kept: { write(chunk: Buffer): void },
  onLine: ((line: string) => void) | undefined,
  fail: (error: unknown) => void,
): void {
  let lines = onLine === undefined ? null : new LineReader(onLine);
  const guarded = (work: () => void) => {
    try {
      work();
    } catch (error) {
      lines = null;
      fail(error);
    }
  };
  output?.on('data', (chunk: Buffer) => {
    kept.write(chunk);
    guarded(() => lines?.write(chunk));
  });
  output?.on('end', () => guarded(() => lines?.end()));
}

function feed(source: Readable, child: ChildProcess, fail: (error: unknown) => void): void {
  const { stdin } = child;
  if (stdin === null) return;
  source.once('error', fail);
  // A program that has read enough closes its input; its exit code says whether that was right.
  stdin.once('error', () => source.destroy());
  child.once('close', () => source.destroy());
  source.pipe(stdin);
}
