import { exitCodes } from '#domain/exit-codes.ts';
import type { ServedTask } from '#domain/runner/kept-runner.ts';
import type { KeptRunner, TaskOutcome, TaskWatch } from './kept-runner.ts';

export interface KeptRunnersOptions {
  /** Starts a runner. */
  readonly start: () => Promise<KeptRunner>;
  /** A runner is replaced after this many tasks. */
  readonly tasksMax: number;
  /** A runner without a task ends after this time. */
  readonly idleMs?: number;
}

const idleMsDefault = 60_000;
/** A runner that has more memory after a task is replaced: its allocator gives little back. */
const rssBytesMax = 512 * 1024 * 1024;

/**
 * Runners that are kept for the next task: as many as there were tasks at once. One that failed a task, however, is
 * replaced, since the bytes that it decoded may have left anything behind.
 */
export class KeptRunners {
  readonly #options: KeptRunnersOptions;
  readonly #running = new Set<KeptRunner>();
  /** The one that was used last is at the end, and is used next, so that those that are not needed end. */
  readonly #idle: { readonly runner: KeptRunner; readonly timer: NodeJS.Timeout }[] = [];

  constructor(options: KeptRunnersOptions) {
    this.#options = options;
  }

  /** Runs one task in a runner of its own for that time. @throws Error when no runner could be started */
  async run(task: ServedTask, watch: TaskWatch): Promise<TaskOutcome> {
    const runner = this.#takeIdle() ?? (await this.#start());
    const outcome = await runner.run(task, watch);
    const { exitCode, rssBytes } = outcome;
    const isSpent = runner.tasksDone >= this.#options.tasksMax || rssBytes === null || rssBytes > rssBytesMax;
    if (exitCode !== exitCodes.done || isSpent) void runner.stop();
    else this.#keep(runner);
    return outcome;
  }

  async stop(): Promise<void> {
    for (const { timer } of this.#idle.splice(0)) clearTimeout(timer);
    await Promise.all([...this.#running].map((runner) => runner.stop()));
  }

  async #start(): Promise<KeptRunner> {
    const runner = await this.#options.start();
    this.#running.add(runner);
    void this.#watch(runner);
    return runner;
  }

  async #watch(runner: KeptRunner): Promise<void> {
    await runner.ended();
    this.#running.delete(runner);
    this.#forget(runner);
  }

  #takeIdle(): KeptRunner | undefined {
    const taken = this.#idle.pop();
    clearTimeout(taken?.timer);
    return taken?.runner;
  }

  #keep(runner: KeptRunner): void {
    const end = () => {
      this.#forget(runner);
      void runner.stop();
    };
    this.#idle.push({ runner, timer: setTimeout(end, this.#options.idleMs ?? idleMsDefault) });
  }

  #forget(runner: KeptRunner): void {
    const index = this.#idle.findIndex((idle) => idle.runner === runner);
    if (index !== -1) clearTimeout(this.#idle.splice(index, 1)[0]?.timer);
  }
}
