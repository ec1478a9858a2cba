import type { Job } from '#domain/jobs/job.ts';
import type { TaskRequest } from '#domain/work/batch-tasks.ts';
import { type Task, taskOf } from '#domain/work/task.ts';
import { dequeue } from '#jobs/submission/enqueue.ts';
import { observeWait, type WaitMetrics } from '../../execution/observe-wait.ts';
import type { TaskAnswer, TaskServer } from '../../execution/task-requests.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { TicketQueue } from '#platform/queue/ticket-queue.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { type Batch, ownerOf } from './batch.ts';
import type { Batches } from './batches.ts';
import { concludeTask, type ConcludeTaskPorts, endOfTask } from './conclude-task.ts';

/** The ports that handing out tasks needs. */
export type TaskServerPorts = ConcludeTaskPorts & {
  readonly jobs: Pick<JobStore, 'find' | 'claimedUnder'>;
  readonly queue: TicketQueue;
  readonly storageWatch: { readonly isAway: boolean };
  readonly template: { readonly maxFileSizeBytes: number };
  readonly metrics: WaitMetrics;
  readonly log: Logger;
  readonly now: () => number;
};

/**
 * Hands out tasks. A task whose answer was lost is still claimed for the batch, so a repeated request gets it again.
 */
export class BatchTaskServer implements TaskServer {
  readonly #ports: TaskServerPorts;
  readonly #batches: Batches;

  constructor(ports: TaskServerPorts, batches: Batches) {
    this.#ports = ports;
    this.#batches = batches;
  }

  async answer(batchId: string, { ended, is_last: isLast }: TaskRequest): Promise<TaskAnswer> {
    const { jobs, queue, storageWatch, log, now } = this.#ports;
    const batch = this.#batches.find(batchId);
    if (batch === undefined) return 'end';
    batch.askedMs = now();
    batch.current = null;
    const claimed = await jobs.claimedUnder(ownerOf(batchId));
    const isEnded = ({ id, attempt }: { id: string; attempt: number }) =>
      id === ended?.job_id && attempt === ended.attempt;
    if (ended !== null && claimed.some(isEnded)) {
      const { job_id: id, attempt, steps } = ended;
      await concludeTask({ id, attempt, steps }, endOfTask(ended), this.#ports);
    }
    const lost = claimed.find((row) => !isEnded(row));
    if (lost !== undefined && !isLast) {
      const job = await jobs.find(lost.id);
      if (job?.attempt === lost.attempt) return this.#handOut(batch, job);
    }
    if (isLast || (await this.#batches.mustClose(batch))) {
      batch.isClosing = true;
      return 'end';
    }
    if (storageWatch.isAway) return 'wait';
    const job = await this.#batches.waiting.claimNext(ownerOf(batchId));
    if (job === null) return 'wait';
    batch.tasks += 1;
    observeWait(this.#ports.metrics, job);
    // The ticket of a claimed job would be dropped anyway, but it counts as waiting until then.
    void dequeue({ queue, log }, job);
    return this.#handOut(batch, job);
  }

  #handOut(batch: Batch, job: Job): TaskAnswer {
    const { template, now } = this.#ports;
    batch.current = { jobId: job.id, attempt: job.attempt, sinceMs: now() };
    const { maxFileSizeBytes } = template;
    return { task: taskOf({ job, unit: { kind: 'image' }, split: null, maxFileSizeBytes }) as Task };
  }
}
