import { removeParts } from '#jobs/uploads/remove.ts';
import type { UploadStore } from '#platform/postgres/upload-store.ts';
import type { UploadBucket } from '#platform/storage/upload-bucket.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { dueTask, inPages } from './due-rows.ts';
import type { PeriodicTask } from '#platform/lifecycle/periodic-component.ts';

interface ExpiryDependencies {
  readonly rows: UploadStore;
  readonly bucket: UploadBucket;
  readonly log: Logger;
}

/** Ends uploads that were not completed in time, and removes what ended ones stored. */
export function uploadExpiryTask({ rows, bucket, log }: ExpiryDependencies): PeriodicTask {
  const removal = dueTask('upload removal', {
    claim: (limit) => rows.claimToCleanUp(limit),
    handle: (upload) => removeParts(bucket, upload),
    mark: (uploads) => rows.markCleanedUp(uploads.map(({ id }) => id)),
    media: bucket.objects,
    onFailure: ({ id }, error) => log.warn({ err: error, upload_id: id }, 'upload not removed'),
  });
  const work = async (signal: AbortSignal) => {
    await inPages((limit) => rows.expire(limit), signal);
    await removal.work(signal);
  };
  return { name: 'upload expiry', work };
}
