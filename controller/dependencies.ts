import type { Config } from '#platform/config/config.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import type { ContentKeyStore } from '#platform/postgres/content-key-store.ts';
import type { MediaDeletionStore } from '#platform/postgres/media-deletion-store.ts';
import type { ImportStore } from '#platform/postgres/import-store.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { PoolStore } from '#platform/postgres/pool-store.ts';
import type { ProfileStore } from '#platform/postgres/profile-store.ts';
import type { CleanupStore } from '#platform/postgres/cleanup-store.ts';
import type { DueWorkStore } from '#platform/postgres/due-work.ts';
import type { DeletionFence } from '#platform/postgres/deletion-fence.ts';
import type { RolloutStore } from '#platform/postgres/rollout-store.ts';
import type { MediaStore } from '#platform/postgres/media-store.ts';
import type { RetentionStore } from '#platform/postgres/retention-store.ts';
import type { UploadStore } from '#platform/postgres/upload-store.ts';
import type { WebhookEventStore } from '#platform/postgres/webhook-event-store.ts';
import type { TicketQueue } from '#platform/queue/ticket-queue.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import type { UploadBucket } from '#platform/storage/upload-bucket.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';

import type { StorageWatch } from './execution/storage-watch.ts';
import type { TaskEndpoint } from './execution/task-requests.ts';

/** The dependencies of a worker. */
export interface ControllerDependencies {
  readonly config: Config;
  readonly jobs: JobStore;
  readonly profiles: ProfileStore;
  readonly poolCopy: PoolStore;
  readonly contentKeys: ContentKeyStore;
  readonly queue: TicketQueue;
  readonly webhookEvents: WebhookEventStore;
  readonly cleanup: CleanupStore;
  readonly fence: DeletionFence;
  readonly retention: RetentionStore;
  readonly deletions: MediaDeletionStore;
  readonly library: MediaStore;
  readonly rollouts: RolloutStore;
  readonly media: ObjectStore;
  readonly source: ObjectStore;
  /** Null where no uploads are accepted. */
  readonly uploads: UploadBucket | null;
  readonly uploadRows: UploadStore;
  readonly importRows: ImportStore;
  readonly dueWork: DueWorkStore;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly clock: () => Date;
  readonly randomUuid: () => string;
  /** 0 ≤ random < 1. */
  readonly random: () => number;
  /** Connects the worker's listener with the leader: runners of batches ask for their tasks there. */
  readonly taskEndpoint: TaskEndpoint;
  /** With the `kubernetes` executor: its clients. */
  readonly kubernetes?: KubernetesInput;
  /** The process executor starts Node with the runner's main file. */
  readonly runner: {
    readonly program: string;
    readonly script: string;
    /** Added to the variables from the configuration: `PATH`, on which tools are found, and the like. */
    readonly variables: Readonly<Record<string, string>>;
  };
}

/** The dependencies of both executors. */
export interface ExecutorDependencies extends ControllerDependencies {
  readonly storageWatch: StorageWatch;
}

/** Needed by the `kubernetes` executor alone. */
interface KubernetesInput {
  readonly client: KubeClient;
  /** The pause between two full lists; default ten minutes. */
  readonly relistEveryMs?: number;
}
