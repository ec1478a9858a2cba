import type { Ticket } from '#domain/jobs/ticket.ts';
import type { Requeue } from '#platform/kubernetes/work-queue.ts';
import type { LeaderContext } from '../leader-context.ts';
import { isBatch } from './batch.ts';
import { Batches } from './batches.ts';
import { BatchReconciler } from './reconcile-batch.ts';
import { BatchTaskServer } from './task-server.ts';
import { watchBatches } from './watch-batches.ts';

/** What a leader does with batches during one term. */
export class BatchWork {
  readonly batches: Batches;
  readonly #context: LeaderContext;
  readonly #reconciler: BatchReconciler;

  constructor(context: LeaderContext) {
    this.#context = context;
    this.batches = new Batches(context);
    this.#reconciler = new BatchReconciler(context, this.batches);
  }

  /** Begins to hand out tasks; ends when `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { taskDesk } = this.#context.dependencies;
    const server = new BatchTaskServer(this.#context, this.batches);
    taskDesk.server = server;
    signal.addEventListener('abort', () => {
      if (taskDesk.server === server) taskDesk.server = null;
    });
    await watchBatches(this.#context, this.batches, signal);
  }

  /** Whether the job of a ticket is left to the batches. */
  leaves(ticket: Ticket): Promise<boolean> {
    return this.batches.leaves(ticket);
  }

  /** Reconciles the MediaJob of a key if it is that of a batch; null for any other. */
  reconcile(key: string): Promise<Requeue> | null {
    const mediaJob = this.#context.caches.mediaJob(key);
    return mediaJob !== undefined && isBatch(mediaJob) ? this.#reconciler.reconcile(key) : null;
  }
}
