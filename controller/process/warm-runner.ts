import { PassThrough } from 'node:stream';
import { timerMsMax } from '#platform/concurrency/timer.ts';
import { parseTaskEnd, type ServedTask, type TaskEnd } from '#domain/work/warm-runner.ts';
import { CommandTime } from '#platform/commands/command-time.ts';
import { type Isolation, runIsolated } from '#platform/commands/isolation.ts';
import { readRepeatedly } from '#platform/commands/read-repeatedly.ts';

/** The events while a task runs. */
export interface TaskWatch {
  /** Aborts when the task must stop; its runner stops with it. */
  readonly signal: AbortSignal;
  /** A task that takes longer is stopped, and its runner with it. */
  readonly timeoutMs: number;
  readonly onReportLine: (line: string) => void;
  readonly onLogLine: (line: string) => void;
  /** Takes the processor time that the task has used so far, again and again, and once it has ended. */
  readonly onProcessorTime: (usedMs: number | null) => void;
}

/** How a task ended, as the process of a single task would have. */
export interface TaskOutcome {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly timedOut: boolean;
  /** The runner's resident memory afterwards; null when it ended too. */
  readonly rssBytes: number | null;
}

interface CurrentTask {
  readonly watch: TaskWatch;
  readonly onEnd: (end: TaskEnd) => void;
  /** The outputs on which the end has not been read yet. */
  outputsLeft: number;
}

interface WarmRunnerOptions {
  readonly isolation: Isolation;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** A runner's process that is handed one task after another (domain/work/warm-runner.ts). */
export class WarmRunner {
  readonly #tasks = new PassThrough();
  readonly #stopping = new AbortController();
  readonly #ended: Promise<Omit<TaskOutcome, 'timedOut'>>;
  /** Aborts when the process has ended. Tasks listen to it, since a promise would keep what waited for it. */
  readonly #over = new AbortController();
  readonly #time = new CommandTime();
  /** The processor time of the tasks so far. The start of the process is part of its first task. */
  #countedMs = 0;
  #current: CurrentTask | null = null;
  tasksDone = 0;

  constructor(
    command: { readonly program: string; readonly args: readonly string[] },
    { isolation, env, cwd }: WarmRunnerOptions,
  ) {
    this.#ended = runIsolated(command, isolation, {
      env,
      cwd,
      stdin: this.#tasks,
      signal: this.#stopping.signal,
      timeoutMs: timerMsMax,
      stdoutBytesMax: 0,
      time: this.#time,
      onStdoutLine: (line) => this.#read(line, (watch) => watch.onReportLine(line)),
      onStderrLine: (line) => this.#read(line, (watch) => watch.onLogLine(line)),
    }).then(
      ({ exitCode, signal }) => ({ exitCode, signal, rssBytes: null }),
      (error: unknown) => {
        if (!this.#stopping.signal.aborted) throw error;
        return { exitCode: null, signal: 'SIGTERM', rssBytes: null };
      },
    );
    void this.ended().then(() => this.#over.abort());
  }

  /** Runs one task to its end. @throws Error when the runner could not be started */
  async run(task: ServedTask, watch: TaskWatch): Promise<TaskOutcome> {
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      void this.stop();
    }, watch.timeoutMs);
    const onAbort = () => void this.stop();
    watch.signal.addEventListener('abort', onAbort, { once: true });
    if (watch.signal.aborted) onAbort();
    const { promise: done, resolve } = Promise.withResolvers<TaskEnd | null>();
    const onOver = () => resolve(null);
    this.#over.signal.addEventListener('abort', onOver, { once: true });
    if (this.#over.signal.aborted) onOver();
    const reading = new AbortController();
    void readRepeatedly(() => this.#readTime(watch), reading.signal);
    try {
      this.#current = { watch, onEnd: resolve, outputsLeft: 2 };
      this.#tasks.write(`${JSON.stringify(task)}\n`);
      const end = await done;
      // The workspace is the task's until nothing can write to it.
      if (end === null || this.#stopping.signal.aborted) return { ...(await this.#ended), timedOut };
      return { exitCode: end.exit_code, signal: null, rssBytes: end.rss_bytes, timedOut };
    } finally {
      clearTimeout(timer);
      reading.abort();
      this.#countedMs += this.#readTime(watch) ?? 0;
      watch.signal.removeEventListener('abort', onAbort);
      this.#over.signal.removeEventListener('abort', onOver);
      this.#current = null;
      this.tasksDone += 1;
    }
  }

  /** Resolves once the process has ended, for whatever reason. */
  async ended(): Promise<void> {
    await this.#ended.catch(() => undefined);
  }

  /** Ends the process and all that it started: SIGTERM, and SIGKILL 3 s later. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.ended();
  }

  /** Passes on, and returns, what the current task has used. */
  #readTime({ onProcessorTime }: TaskWatch): number | null {
    const processMs = this.#time.readMs();
    const usedMs = processMs === null ? null : processMs - this.#countedMs;
    onProcessorTime(usedMs);
    return usedMs;
  }

  #read(line: string, pass: (watch: TaskWatch) => void): void {
    const end = parseTaskEnd(line);
    if (this.#current === null) return;
    if (end === null) return pass(this.#current.watch);
    this.#current.outputsLeft -= 1;
    if (this.#current.outputsLeft === 0) this.#current.onEnd(end);
  }
}
