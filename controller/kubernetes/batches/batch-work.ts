import type { Requeue } from '#platform/kubernetes/work-queue.ts';
import { batchKey } from '../snapshots/names.ts';
import type { TaskEndpoint } from '../../execution/task-requests.ts';
import { Batches, type BatchesPorts } from './batches.ts';
import { BatchReconciler, type BatchReconcilerPorts } from './reconcile-batch.ts';
import { BatchTaskServer, type TaskServerPorts } from './task-server.ts';
import { watchBatches, type WatchBatchesPorts } from './watch-batches.ts';

/** The ports that a leader's work on batches needs. */
export type BatchPorts = BatchesPorts &
  BatchReconcilerPorts &
  TaskServerPorts &
  WatchBatchesPorts & {
    /** Where runners of batches ask for tasks. */
    readonly taskEndpoint: TaskEndpoint;
  };

/** The work on batches that a leader does during one term. */
export class BatchWork {
  readonly batches: Batches;
  readonly #ports: BatchPorts;
  readonly #reconciler: BatchReconciler;

  constructor(ports: BatchPorts) {
    this.#ports = ports;
    this.batches = new Batches(ports);
    this.#reconciler = new BatchReconciler(ports, this.batches);
  }

  /** Begins to hand out tasks; ends when `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { taskEndpoint } = this.#ports;
    const server = new BatchTaskServer(this.#ports, this.batches);
    taskEndpoint.server = server;
    signal.addEventListener('abort', () => {
      if (taskEndpoint.server === server) taskEndpoint.server = null;
    });
    await watchBatches(this.#ports, this.batches, signal);
  }

  /** The key of a batch that has not ended; undefined for any other id. */
  keyOf(id: string): string | undefined {
    return this.batches.find(id) === undefined ? undefined : batchKey(id);
  }

  /** Reconciles the batch of a key; null for any other key. */
  reconcile(key: string): Promise<Requeue> | null {
    const prefix = batchKey('');
    return key.startsWith(prefix) ? this.#reconciler.reconcile(key.slice(prefix.length)) : null;
  }
}
