import { statfs } from 'node:fs/promises';
import { type JobErrorCode, KnownProblem } from '#domain/errors.ts';
import { type Command, showCommand } from '#platform/commands/command.ts';
import { type CommandOutcome, runCommand } from '#platform/commands/run-command.ts';
import type { StepContext } from '../context/step-context.ts';

interface Failure {
  readonly code: JobErrorCode;
  readonly message: string;
}

export interface ToolRun {
  readonly timeoutMs: number;
  /** The problem to report when the tool fails by itself, and not for want of resources. */
  readonly failure: Failure;
  /** Exit codes that mean another problem. */
  readonly failureOfExit?: Readonly<Record<number, Failure>>;
  /** A tool without a line of output for this long hangs. */
  readonly silenceMsMax?: number;
  readonly onStdoutLine?: (line: string) => void;
  readonly onStderrLine?: (line: string) => void;
  readonly stdoutBytesMax?: number;
  /** The tool reads headers alone: memory that it is refused while there is enough is what a header asked for. */
  readonly readsHeaders?: boolean;
}

/** For a tool that reads headers or lists something, from a disk that may be slow. */
export const probeTimeoutMs = 2 * 60_000;

/** Less free space than this after a failure means that the tool ran out of disk. */
const scratchBytesMin = 8 * 1024 * 1024;
/**
 * Less than the 3 s that the runner has once it is stopped, so that a tool that is slow to end (x264 finishes its
 * frames) does not outlive it.
 */
const toolKillDelayMs = 1000;

/** More than reading any headers takes. */
const headersMemoryBytesMax = 256 * 1024 * 1024;
/**
 * The C library's messages for ENOSPC and EDQUOT, for EMFILE and ENFILE, and for ENOMEM, as most tools have no exit
 * code for them; ffmpeg 7 and later exit with the low byte of the negative errno. They end a line: ffmpeg quotes titles
 * and languages of a source in lines that begin with a space.
 */
const outOfDisk = { message: /^(\S.*[:(] ?)?(No space left on device|Disk quota exceeded)\)?$/m, exitCode: 256 - 28 };
const outOfFiles = { message: /^(\S.*[:(] ?)?Too many open files( in system)?\)?$/m, exitCode: 256 - 24 };
const outOfMemory = { message: /^(\S.*[:(] ?)?Cannot allocate memory\)?$|^\S.*std::bad_alloc/m, exitCode: 256 - 12 };

/**
 * Runs a tool to its end and turns failures into known problems: `resource_exhausted` for want of memory, disk or open
 * files (a SIGKILL that the runner did not send comes from the kernel), `deadline_exceeded` for a tool that hangs, else
 * `failure`.
 *
 * @throws KnownProblem, or the reason of the context's signal
 */
export async function runTool(
  command: Command,
  run: ToolRun,
  { signal, log, workspace }: Pick<StepContext, 'signal' | 'log' | 'workspace'>,
): Promise<CommandOutcome> {
  log.debug({ command: showCommand(command) }, 'tool started');
  const silence = new SilenceGuard(run.silenceMsMax);
  const startedAt = Date.now();
  try {
    const outcome = await runCommand(command, {
      signal: AbortSignal.any([signal, silence.signal]),
      // File names are relative: the workspace's path may contain characters that a tool reads as syntax.
      cwd: workspace.root,
      timeoutMs: run.timeoutMs,
      killDelayMs: toolKillDelayMs,
      onStdoutLine: (line) => {
        silence.restart();
        run.onStdoutLine?.(line);
      },
      onStderrLine: run.onStderrLine,
      stdoutBytesMax: run.stdoutBytesMax,
    });
    const { exitCode, signal: endedBy, timedOut } = outcome;
    log.debug({ program: command.program, exitCode, endedBy, timedOut, ms: Date.now() - startedAt }, 'tool ended');
    // ffmpeg says that a file could not be written to its end, and exits with 0.
    if (exitCode === 0 && !timedOut && !outOfDisk.message.test(outcome.stderrTail)) return outcome;
    throw await problemOf(outcome, run, workspace.root);
  } finally {
    silence.end();
  }
}

async function problemOf(outcome: CommandOutcome, run: ToolRun, scratch: string): Promise<KnownProblem> {
  const { exitCode, signal, stderrTail: logTail, timedOut } = outcome;
  const says = (fault: typeof outOfDisk) => exitCode === fault.exitCode || fault.message.test(logTail);
  if (timedOut) return new KnownProblem('deadline_exceeded', 'A tool did not finish in time.', { logTail });
  const isOutOfResource =
    signal === 'SIGKILL' ||
    says(outOfDisk) ||
    says(outOfFiles) ||
    (says(outOfMemory) && !(run.readsHeaders === true && process.availableMemory() > headersMemoryBytesMax)) ||
    (await isFull(scratch));
  if (isOutOfResource) return new KnownProblem('resource_exhausted', undefined, { logTail });
  const failure = (exitCode === null ? undefined : run.failureOfExit?.[exitCode]) ?? run.failure;
  return new KnownProblem(failure.code, failure.message, { logTail });
}

async function isFull(folder: string): Promise<boolean> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize < scratchBytesMin;
}

/** Aborts when a tool has printed nothing for too long. */
class SilenceGuard {
  readonly #controller = new AbortController();
  readonly #limitMs: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(limitMs: number | undefined) {
    this.#limitMs = limitMs;
    this.restart();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  restart(): void {
    if (this.#limitMs === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#controller.abort(new KnownProblem('deadline_exceeded', 'A tool made no progress.'));
    }, this.#limitMs);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}
