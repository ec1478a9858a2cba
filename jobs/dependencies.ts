import type { Config } from '#platform/config/config.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { PoolStore } from '#platform/postgres/pool-store.ts';
import type { ProfileStore } from '#platform/postgres/profile-store.ts';
import type { TicketQueue } from '#platform/queue/ticket-queue.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';

/** The dependencies of the use cases; each takes the few of them that it needs. */
export interface JobDependencies {
  readonly config: Pick<Config, 'maxFileSizeBytes' | 'largeVideoThresholdBytes' | 'mediaProfiles'>;
  readonly jobs: JobStore;
  /** The profiles of the cluster. */
  readonly profiles: ProfileStore;
  /** The RunnerPools of the cluster. */
  readonly pools: PoolStore;
  readonly queue: TicketQueue;
  readonly source: ObjectStore;
  readonly log: Logger;
  readonly clock: () => Date;
  readonly randomUuid: () => string;
}
