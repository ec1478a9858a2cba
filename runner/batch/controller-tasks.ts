import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { exitCodes } from '#domain/exit-codes.ts';
import { type EndedTask, parseTaskAnswer, type TaskRequest, type TaskResult } from '#domain/work/batch-tasks.ts';
import type { ServedTask, TaskEnd } from '#domain/work/warm-runner.ts';
import type { Task } from '#domain/work/task.ts';
import type { Logger } from '#platform/telemetry/logger.ts';

interface ControllerTasksOptions {
  readonly url: string;
  readonly token: string;
  /** Each task has a folder of its own in it. */
  readonly root: string;
  readonly log: Logger;
  /** Aborts when the process must stop. */
  readonly signal: AbortSignal;
  readonly times?: Times;
}

interface Times {
  /** The runner ends after this time without a task. */
  readonly idleMs: number;
  readonly askAgainMs: number;
  /** For how long the controller may be away: longer than a change of leader. */
  readonly awayMs: number;
}

const timesDefault: Times = { idleMs: 5_000, askAgainMs: 250, awayMs: 60_000 };
const answerMs = 30_000;
/** As for a warm runner: the allocator returns little memory. */
const rssBytesMax = 512 * 1024 * 1024;

/** The tasks of a batch, which the controller hands out one after another (domain/work/batch-tasks.ts). */
export class ControllerTasks {
  readonly #options: ControllerTasksOptions;
  readonly #times: Times;
  #current: Task | null = null;
  #ended: EndedTask | null = null;
  #isLast = false;

  constructor(options: ControllerTasksOptions) {
    this.#options = options;
    this.#times = options.times ?? timesDefault;
  }

  /** Each with an empty workspace, which is removed before the next task is asked for. */
  async *all(): AsyncGenerator<ServedTask> {
    while (!this.#isLast) {
      const task = await this.#next();
      if (task === null) return;
      this.#current = task;
      const workspace = await mkdtemp(join(this.#options.root, 'task-'));
      try {
        yield { task, workspace };
      } finally {
        await rm(workspace, { recursive: true, force: true, maxRetries: 3 });
      }
    }
  }

  /** The current task has ended. What a failed one decoded may have left anything behind, so no other follows it. */
  ended({ exit_code: exitCode, rss_bytes: rssBytes }: TaskEnd, { error, steps }: TaskResult): void {
    if (this.#current === null) return;
    const { job_id: jobId, attempt } = this.#current;
    this.#current = null;
    if (exitCode === exitCodes.stopped) return;
    this.#ended = { job_id: jobId, attempt, exit_code: exitCode, error, steps };
    this.#isLast = exitCode !== exitCodes.done || rssBytes > rssBytesMax;
  }

  /** Reports the last task, if it has not been; returns the exit code of the process. */
  async finish(): Promise<number> {
    if (this.#options.signal.aborted) return exitCodes.stopped;
    if (this.#ended !== null) await this.#ask();
    return this.#ended?.exit_code ?? exitCodes.done;
  }

  /** Null: none has come for a while, or none is to come. */
  async #next(): Promise<Task | null> {
    const { signal } = this.#options;
    const startedAt = performance.now();
    while (!signal.aborted) {
      const answer = await this.#ask();
      if (answer !== 'wait') return answer;
      if (performance.now() - startedAt >= this.#times.idleMs) return null;
      await sleep(this.#times.askAgainMs, undefined, { signal }).catch(() => undefined);
    }
    return null;
  }

  /** A task; `wait`: none now; null: the controller wants this runner to end, or is away for too long. */
  async #ask(): Promise<Task | 'wait' | null> {
    const { signal, log } = this.#options;
    const startedAt = performance.now();
    let problem: unknown;
    while (!signal.aborted && performance.now() - startedAt < this.#times.awayMs) {
      try {
        const response = await this.#post({ ended: this.#ended, is_last: this.#isLast });
        const text = await response.text();
        if (response.status < 500) return this.#read(response.status, text);
        problem = `status ${response.status}`;
      } catch (error) {
        problem = error;
      }
      await sleep(this.#times.askAgainMs, undefined, { signal }).catch(() => undefined);
    }
    if (!signal.aborted) log.warn({ err: problem }, 'no answer to a request for a task');
    return null;
  }

  #read(status: number, text: string): Task | 'wait' | null {
    if (status === 200 || status === 204 || status === 410) this.#ended = null;
    if (status === 204) return 'wait';
    return status === 200 ? parseTaskAnswer(text) : null;
  }

  #post(request: TaskRequest): Promise<Response> {
    const { url, token, signal } = this.#options;
    return fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(request),
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(answerMs)]),
    });
  }
}
