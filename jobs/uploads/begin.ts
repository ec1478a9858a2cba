import { KnownProblem } from '#domain/errors.ts';
import { partSizeOf } from '#domain/uploads/part-plan.ts';
import type { Upload } from '#domain/uploads/upload.ts';
import { uploadKey } from '#domain/uploads/upload-key.ts';
import type { UploadDependencies } from './dependencies.ts';

/** A file as its caller announces it. */
export type AnnouncedFile = Pick<Upload, 'keyId' | 'name' | 'sizeBytes' | 'contentType' | 'sha256'> &
  Partial<Pick<Upload, 'title'>>;

/**
 * Begins an upload: first its row, then the store's multipart upload.
 *
 * A crash between the two leaves a row that expires, and one after both a multipart upload that no row names; cleanup
 * finds that by the key.
 *
 * @throws KnownProblem `source_too_large`; `rate_limited` when the API key has too many open uploads
 */
export async function beginUpload(
  { config, rows, bucket, randomUuid }: UploadDependencies,
  file: AnnouncedFile,
): Promise<Upload> {
  if (file.sizeBytes > config.maxFileSizeBytes) {
    const detail = `is ${file.sizeBytes} bytes; at most ${config.maxFileSizeBytes} are accepted`;
    throw new KnownProblem('source_too_large', undefined, {
      faults: [{ pointer: '/size', code: 'source_too_large', detail }],
    });
  }
  const { prefix, openMax } = bucket.settings;
  const id = randomUuid();
  const upload = await rows.insert(
    { ...file, id, source: uploadKey(prefix, id, file.name), partSizeBytes: partSizeOf(file.sizeBytes) },
    bucket.settings,
  );
  if (upload === null)
    throw new KnownProblem('rate_limited', `At most ${openMax} uploads are open at once; complete or delete some.`);
  const contentType = file.contentType ?? 'application/octet-stream';
  const multipartId = await bucket.parts.begin(upload.source, { contentType }).catch(async (error: unknown) => {
    // No caller knows its id: until it expired, it would take one of the key's places.
    await rows.abort(id, 'parts_lost').catch(() => undefined);
    throw error;
  });
  await rows.setMultipart(id, multipartId);
  return { ...upload, multipartId };
}
