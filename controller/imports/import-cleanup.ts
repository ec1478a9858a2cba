import { removeParts } from '#jobs/imports/remove.ts';
import type { ImportStore } from '#platform/postgres/import-store.ts';
import type { UploadBucket } from '#platform/storage/upload-bucket.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { PeriodicTask } from '#platform/lifecycle/periodic-component.ts';
import { dueTask } from '../upkeep/due-rows.ts';

interface CleanupDependencies {
  readonly rows: ImportStore;
  readonly bucket: UploadBucket;
  readonly log: Logger;
}

/** Removes what failed and cancelled imports stored. */
export function importCleanupTask({ rows, bucket, log }: CleanupDependencies): PeriodicTask {
  return dueTask('import cleanup', {
    claim: (limit) => rows.claimToCleanUp(limit),
    handle: (row) => removeParts(bucket, row),
    mark: (imports) => rows.markCleanedUp(imports.map(({ id }) => id)),
    media: bucket.objects,
    onFailure: ({ id }, error) => log.warn({ err: error, import_id: id }, 'import not removed'),
  });
}
