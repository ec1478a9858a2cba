import type { Job } from '#domain/jobs/job.ts';
import type { EndedTask, TaskRequest } from '#domain/runner/batch.ts';
import { dequeue } from '#jobs/enqueue.ts';
import { runnerTaskOf } from '#jobs/runner-task.ts';
import type { TaskAnswer, TaskServer } from '../../task-requests.ts';
import type { LeaderContext } from '../leader-context.ts';
import { type Batch, ownerOf } from './batch.ts';
import type { Batches } from './batches.ts';
import { concludeTask, endOfTask } from './conclude-task.ts';

/**
 * Hands out tasks. A request may come twice: a task whose answer was lost is still claimed for the batch, and is handed
 * out again.
 */
export class BatchTaskServer implements TaskServer {
  readonly #context: LeaderContext;
  readonly #batches: Batches;

  constructor(context: LeaderContext, batches: Batches) {
    this.#context = context;
    this.#batches = batches;
  }

  async answer(batchId: string, { ended, is_last: isLast }: TaskRequest): Promise<TaskAnswer> {
    const { dependencies, now } = this.#context;
    const batch = this.#batches.find(batchId);
    if (batch === undefined) return 'end';
    batch.askedMs = now();
    batch.current = null;
    const held = await dependencies.jobs.heldUnder(ownerOf(batchId));
    const isEnded = ({ id, attempt }: { id: string; attempt: number }) =>
      id === ended?.job_id && attempt === ended.attempt;
    if (ended !== null && held.some(isEnded)) await this.#conclude(batch, ended);
    const lost = held.find((row) => !isEnded(row));
    if (lost !== undefined && !isLast) {
      const job = await dependencies.jobs.find(lost.id);
      if (job?.attempt === lost.attempt) return this.#handOut(batch, job);
    }
    if (isLast || this.#batches.mustClose(batch)) {
      batch.isClosing = true;
      return 'end';
    }
    if (dependencies.storageWatch.isAway) return 'wait';
    const job = await this.#batches.waiting.claimNext(ownerOf(batchId));
    if (job === null) return 'wait';
    this.#observeWait(job);
    // The ticket of a claimed job would be dropped anyway, but it counts as waiting until then.
    void dequeue(dependencies, job);
    return this.#handOut(batch, job);
  }

  async #conclude(batch: Batch, ended: EndedTask): Promise<void> {
    const { job_id: id, attempt } = ended;
    const result = await concludeTask({ id, attempt }, endOfTask(ended), this.#context.dependencies);
    batch.ended += 1;
    if (result !== 'completed') batch.failed += 1;
  }

  #handOut(batch: Batch, job: Job): TaskAnswer {
    const { dependencies, now } = this.#context;
    batch.current = { jobId: job.id, attempt: job.attempt, sinceMs: now() };
    if (batch.jobs.at(-1) !== job.id) batch.jobs.push(job.id);
    return { task: runnerTaskOf({ job, maxFileSizeBytes: dependencies.template.maxFileSizeBytes }) };
  }

  #observeWait({ queue, startedAt, createdAt }: Job): void {
    if (startedAt === null) return;
    this.#context.dependencies.metrics.queueWait.observe({ queue }, (startedAt.getTime() - createdAt.getTime()) / 1000);
  }
}
