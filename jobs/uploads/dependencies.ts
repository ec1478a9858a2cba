import type { Config } from '#platform/config/config.ts';
import type { UploadStore } from '#platform/postgres/upload-store.ts';
import type { UploadBucket } from '#platform/storage/upload-bucket.ts';
import type { Logger } from '#platform/telemetry/logger.ts';

/** The dependencies of the use cases of uploads; each takes the few of them that it needs. */
export interface UploadDependencies {
  readonly config: Pick<Config, 'maxFileSizeBytes'>;
  readonly rows: UploadStore;
  readonly bucket: UploadBucket;
  readonly log: Logger;
  readonly randomUuid: () => string;
}
