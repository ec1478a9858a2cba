import { statfs } from 'node:fs/promises';
import { type JobErrorCode, KnownProblem } from '#domain/errors.ts';
import { type Command, showCommand } from '#platform/commands/command.ts';
import { type CommandOutcome, runCommand } from '#platform/commands/run-command.ts';
import type { StepContext } from '../context.ts';

interface ToolRun {
  readonly timeoutMs: number;
  /** What a failure means that the system is not to blame for. */
  readonly failure: { readonly code: JobErrorCode; readonly message: string };
  /** Exit codes with a meaning of their own. */
  readonly failureOfExit?: Readonly<Record<number, { readonly code: JobErrorCode; readonly message: string }>>;
  /** A tool that says nothing for this long hangs. */
  readonly silenceMsMax?: number;
  readonly onStdoutLine?: (line: string) => void;
  readonly onStderrLine?: (line: string) => void;
  readonly stdoutBytesMax?: number;
}

/** Less room than this after a failure: the failure was for want of room. */
const scratchBytesMin = 8 * 1024 * 1024;
/** What the C library calls ENOSPC, EDQUOT and ENOMEM; a tool has no other way to tell. */
const outOfResource = /No space left on device|Disk quota exceeded|Cannot allocate memory|std::bad_alloc/;
/** ffmpeg 7 and later exit with the low byte of a negative errno: ENOSPC is 28, ENOMEM 12. */
const outOfResourceExits: readonly (number | null)[] = [256 - 28, 256 - 12];

/**
 * Runs a tool to its end and turns what can go wrong into known problems: `resource_exhausted` for want of memory or
 * disk (a SIGKILL that we did not send is the kernel's), `deadline_exceeded` for a tool that hangs, else `failure`.
 *
 * @throws KnownProblem, or the reason of the context's signal
 */
export async function runTool(
  command: Command,
  run: ToolRun,
  { signal, log, workspace }: Pick<StepContext, 'signal' | 'log' | 'workspace'>,
): Promise<CommandOutcome> {
  log.debug({ command: showCommand(command) }, 'tool starts');
  const silence = new SilenceGuard(run.silenceMsMax);
  const startedAt = Date.now();
  try {
    const outcome = await runCommand(command, {
      signal: AbortSignal.any([signal, silence.signal]),
      // Names of files are relative to it: a folder's own name may hold what a tool reads as its syntax.
      cwd: workspace.root,
      timeoutMs: run.timeoutMs,
      onStdoutLine: (line) => {
        silence.heard();
        run.onStdoutLine?.(line);
      },
      onStderrLine: run.onStderrLine,
      stdoutBytesMax: run.stdoutBytesMax,
    });
    const { exitCode, signal: endedBy, timedOut } = outcome;
    log.debug({ program: command.program, exitCode, endedBy, timedOut, ms: Date.now() - startedAt }, 'tool ended');
    if (exitCode === 0 && !timedOut) return outcome;
    throw await problemOf(outcome, run, workspace.root);
  } finally {
    silence.end();
  }
}

async function problemOf(outcome: CommandOutcome, run: ToolRun, scratch: string): Promise<KnownProblem> {
  const { exitCode, signal, stderrTail: logTail, timedOut } = outcome;
  if (timedOut) return new KnownProblem('deadline_exceeded', 'A tool did not finish in time.', { logTail });
  const isStarved =
    signal === 'SIGKILL' ||
    outOfResourceExits.includes(exitCode) ||
    outOfResource.test(logTail) ||
    (await isFull(scratch));
  if (isStarved) return new KnownProblem('resource_exhausted', undefined, { logTail });
  const failure = (exitCode === null ? undefined : run.failureOfExit?.[exitCode]) ?? run.failure;
  return new KnownProblem(failure.code, failure.message, { logTail });
}

async function isFull(folder: string): Promise<boolean> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize < scratchBytesMin;
}

/** Aborts when a tool has said nothing for too long. */
class SilenceGuard {
  readonly #controller = new AbortController();
  readonly #limitMs: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(limitMs: number | undefined) {
    this.#limitMs = limitMs;
    this.heard();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  heard(): void {
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
