import type { TaskRequest } from '#domain/work/batch-tasks.ts';
import type { Task } from '#domain/work/task.ts';
import type { jobs } from '#platform/kubernetes/objects.ts';

type BatchJob = NonNullable<(typeof jobs)['example']>;
type Answer = { readonly task: Task } | 'wait' | 'end' | 'no leader';

/** Asks for the tasks of a batch as the runner of its Job does (domain/work/batch-tasks.ts). */
export class BatchRunner {
  readonly #url: string;
  readonly #token: string;
  #ended: TaskRequest['ended'] = null;

  constructor(job: BatchJob) {
    const { env = [] } = job.spec?.template.spec?.containers[0] ?? {};
    const variableValue = (name: string) => env.find((one) => one.name === name)?.value ?? '';
    this.#url = variableValue('TASKS_URL');
    this.#token = variableValue('TASKS_TOKEN');
  }

  /** One request, with the end of the last task if it was not reported yet. */
  async ask(isLast = false): Promise<Answer> {
    const headers = { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ ended: this.#ended, is_last: isLast } satisfies TaskRequest);
    const response = await fetch(this.#url, { method: 'POST', headers, body }).catch(() => null);
    const text = await response?.text();
    if (response === null || response.status === 503) return 'no leader';
    this.#ended = null;
    if (response.status === 204) return 'wait';
    if (response.status === 410) return 'end';
    if (response.status !== 200) throw new Error(`status ${response.status}: ${text}`);
    return JSON.parse(text ?? '') as { task: Task };
  }

  /** The task of a request, which is made until there is one. */
  async task(): Promise<Task> {
    for (;;) {
      const answer = await this.ask();
      if (typeof answer === 'object') return answer.task;
      if (answer === 'end') throw new Error('the batch has no more tasks');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** The end of a task, which the next request reports. */
  end({ job_id: jobId, attempt }: Task, exitCode = 0): void {
    this.#ended = { job_id: jobId, attempt, exit_code: exitCode, error: null };
  }

  /** Does all tasks until the batch has none for `idleMs`. */
  async runAll(work: (task: Task) => Promise<void>, idleMs = 1_000): Promise<void> {
    let busyAt = performance.now();
    while (performance.now() - busyAt < idleMs) {
      const answer = await this.ask();
      if (answer === 'end') return;
      if (typeof answer === 'object') {
        await work(answer.task);
        this.end(answer.task);
        busyAt = performance.now();
      } else await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
