import { removeParts } from '#jobs/uploads/remove.ts';
import type { UploadStore } from '#platform/postgres/upload-store.ts';
import type { UploadBucket } from '#platform/storage/upload-bucket.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { inPages, workThrough } from './due-rows.ts';
import type { PeriodicTask } from '#platform/lifecycle/periodic-component.ts';

interface ExpiryDependencies {
  readonly rows: UploadStore;
  readonly bucket: UploadBucket;
  readonly log: Logger;
}

/** Ends uploads that were not completed in time, and removes what ended ones stored. */
export function uploadExpiryTask(dependencies: ExpiryDependencies): PeriodicTask {
  return { name: 'upload expiry', work: (signal) => expireUploads({ ...dependencies, signal }) };
}

/** One round of it. An upload that cannot be removed now is due again later. */
export async function expireUploads(
  dependencies: ExpiryDependencies & { readonly signal: AbortSignal },
): Promise<void> {
  const { rows, bucket, log, signal } = dependencies;
  await inPages((limit) => rows.expire(limit), signal);
  await workThrough({
    claim: (limit) => rows.claimToCleanUp(limit),
    handle: (upload) => removeParts(bucket, upload),
    mark: (uploads) => rows.markCleanedUp(uploads.map(({ id }) => id)),
    media: bucket.objects,
    onFailure: ({ id }, error) => log.warn({ err: error, upload_id: id }, 'upload not removed'),
    signal,
  });
}
