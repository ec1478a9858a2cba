import type { ContentKeyStore } from '#platform/postgres/content-key-store.ts';
import type { Database } from '#platform/postgres/database.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { Config } from '#platform/config/config.ts';
import type { ImageProcessor } from '#platform/images/image-processor.ts';
import type { KeyValueStore } from '#platform/key-value/key-value-store.ts';
import type { TicketQueue } from '#platform/queue/ticket-queue.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';

/** What a server is made of. `main.ts` builds each of these and closes it after the server has stopped. */
export type ApiDependencies = DeliveryDependencies & JobDependencies;

/** What the surface `api` needs beyond `delivery`: the parts that take jobs in. */
export interface JobDependencies {
  readonly jobs: JobStore;
  readonly queue: TicketQueue;
  readonly source: ObjectStore;
}

/** What every server needs, and all that the surface `delivery` does. */
export interface DeliveryDependencies {
  readonly config: Pick<
    Config,
    | 'host'
    | 'port'
    | 'surfaces'
    | 'apiKeys'
    | 'keyTokenSecret'
    | 'thumbSecrets'
    | 'baseUrl'
    | 'maxFileSizeBytes'
    | 'largeVideoThresholdBytes'
    | 'trustedProxies'
    | 'apiRateLimitPerMinute'
    | 'keyRateLimitPerMinute'
    | 'deliveryCacheBytesMax'
    | 'webhook'
  >;
  readonly contentKeys: ContentKeyStore;
  readonly keyValues: KeyValueStore;
  readonly media: ObjectStore;
  readonly database: Database;
  readonly images: ImageProcessor;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly clock: () => Date;
  readonly randomUuid: () => string;
  /** The folder of the player page. */
  readonly webDir: string;
}
