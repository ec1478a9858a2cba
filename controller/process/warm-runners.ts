import { exitCodes } from '#domain/exit-codes.ts';
import type { ServedTask } from '#domain/work/warm-runner.ts';
import type { WarmRunner, TaskOutcome, TaskWatch } from './warm-runner.ts';

export interface WarmRunnersOptions {
  /** Starts a runner. */
  readonly start: () => Promise<WarmRunner>;
  /** A runner is replaced after this many tasks. */
  readonly tasksMax: number;
  /** A runner without a task ends after this time. */
  readonly idleMs?: number;
}

const idleMsDefault = 60_000;
/** A runner that has more memory after a task is replaced: its allocator gives little back. */
const rssBytesMax = 512 * 1024 * 1024;

/**
 * Idle runners for the next tasks: as many as there were tasks at once. One that failed a task is replaced, since the
 * bytes that it decoded may have changed anything in it.
 */
export class WarmRunners {
  readonly #options: WarmRunnersOptions;
  readonly #running = new Set<WarmRunner>();
  /** The one that was used last is at the end, and is used next, so that those that are not needed end. */
  readonly #idle: { readonly runner: WarmRunner; readonly timer: NodeJS.Timeout }[] = [];

  constructor(options: WarmRunnersOptions) {
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

  async #start(): Promise<WarmRunner> {
    const runner = await this.#options.start();
    this.#running.add(runner);
    void this.#watch(runner);
    return runner;
  }

  async #watch(runner: WarmRunner): Promise<void> {
    await runner.ended();
    this.#running.delete(runner);
    this.#forget(runner);
  }

  #takeIdle(): WarmRunner | undefined {
    const taken = this.#idle.pop();
    clearTimeout(taken?.timer);
    return taken?.runner;
  }

  #keep(runner: WarmRunner): void {
    const end = () => {
      this.#forget(runner);
      void runner.stop();
    };
    this.#idle.push({ runner, timer: setTimeout(end, this.#options.idleMs ?? idleMsDefault) });
  }

  #forget(runner: WarmRunner): void {
    const index = this.#idle.findIndex((idle) => idle.runner === runner);
    if (index !== -1) clearTimeout(this.#idle.splice(index, 1)[0]?.timer);
  }
}
