import type { Config } from '#platform/config/config.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import type { ContentKeyStore } from '#platform/postgres/content-key-store.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { CleanupStore } from '#platform/postgres/cleanup-store.ts';
import type { WebhookEventStore } from '#platform/postgres/webhook-event-store.ts';
import type { TicketQueue } from '#platform/queue/ticket-queue.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';

/** What a worker is made of. */
export interface ControllerDependencies {
  readonly config: Config;
  readonly jobs: JobStore;
  readonly contentKeys: ContentKeyStore;
  readonly queue: TicketQueue;
  readonly webhookEvents: WebhookEventStore;
  readonly leftovers: CleanupStore;
  readonly media: ObjectStore;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly clock: () => Date;
  readonly randomUuid: () => string;
  /** 0 ≤ random < 1. */
  readonly random: () => number;
  /** With the `kubernetes` executor: how its parts are reached. */
  readonly kubernetes?: KubernetesInput;
  /** What the process executor starts: Node, and the runner's main file. */
  readonly runner: {
    readonly program: string;
    readonly script: string;
    /** Beside what the configuration says: `PATH`, on which tools are found, and the like. */
    readonly variables: Readonly<Record<string, string>>;
  };
}

/** What only the `kubernetes` executor needs. */
interface KubernetesInput {
  readonly client: KubeClient;
  /** For measuring what comes by kubectl. */
  readonly source: ObjectStore;
  /** How often everything is listed again; ten minutes unless told. */
  readonly relistEveryMs?: number;
}
