import { KnownProblem, type RequestErrorCode } from '#domain/errors.ts';
import { missingParts } from '#domain/uploads/part-plan.ts';
import type { Upload, UploadReason } from '#domain/uploads/upload.ts';
import type { ObjectInfo } from '#platform/storage/object-store.ts';
import type { UploadDependencies } from './dependencies.ts';
import { sha256Of } from './digest.ts';
import { isReadable } from './recognise.ts';
import { tryToRemoveStored } from './remove.ts';

type CompleteDependencies = Pick<UploadDependencies, 'rows' | 'bucket' | 'log'>;

/** How long a completion may take after it began, beside the time in which its digest is read out of the bucket. */
const completionGraceMs = 60 * 60_000;
/** The slowest store for which this time is reckoned: 50 GB take 2.8 hours. */
const digestBytesPerMs = 5_000;

/**
 * Completes an upload: all parts there → `completing` → the store makes the object → its size, first bytes and digest
 * are checked → `completed`. Each step finds what an earlier call left, so a call after a crash, or beside another one,
 * comes to the same end. An object that fails a check is deleted, and the upload is aborted.
 *
 * @throws KnownProblem `not_found`, `upload_conflict`, `upload_mismatch`, `unsupported`
 */
export async function completeUpload(dependencies: CompleteDependencies, id: string): Promise<Upload> {
  const { rows } = dependencies;
  const upload = await rows.find(id);
  if (upload === null) throw new KnownProblem('not_found', 'There is no such upload.');
  if (upload.status === 'completed') return upload;
  if (upload.status === 'open') {
    await partsOf(dependencies, upload);
    await rows.beginCompletion(id, completionGraceMs + Math.ceil(upload.sizeBytes / digestBytesPerMs));
    return completeUpload(dependencies, id);
  }
  if (upload.status !== 'completing') throw endOf(upload);
  const info = await objectOf(dependencies, upload);
  const fault = await faultOf(dependencies, upload, info);
  if (fault !== null) {
    await rows.abort(id, fault);
    return refuse(dependencies, id);
  }
  return (await rows.complete(id, info.etag))
    ? { ...upload, status: 'completed', etag: info.etag }
    : refuse(dependencies, id);
}

/** The end that the row has by now, which another call may have written; what no row needs is removed. */
async function refuse(dependencies: CompleteDependencies, id: string): Promise<Upload> {
  const upload = await dependencies.rows.find(id);
  if (upload === null) throw new KnownProblem('not_found', 'There is no such upload.');
  if (upload.status === 'completed') return upload;
  await tryToRemoveStored(dependencies, upload);
  throw endOf(upload);
}

const endOfReason = {
  deleted: ['upload_conflict', 'The upload was deleted.'],
  parts_lost: ['upload_conflict', 'The parts of the upload are lost; upload the file again.'],
  unsupported: ['unsupported', 'This is not a video, audio or image file. The upload was removed.'],
  size_mismatch: ['upload_mismatch', 'The object has another size than was announced; it was deleted.'],
  sha256_mismatch: ['upload_mismatch', 'The object has another SHA-256 than was announced; it was deleted.'],
} as const satisfies Record<UploadReason, readonly [RequestErrorCode, string]>;

function endOf({ reason }: Upload): KnownProblem {
  if (reason === null) return new KnownProblem('upload_conflict', 'The upload has expired; begin another one.');
  const [code, message] = endOfReason[reason];
  return new KnownProblem(code, message);
}

/** The parts of an upload. @throws KnownProblem `upload_conflict` when some are missing */
async function partsOf({ bucket }: CompleteDependencies, upload: Upload) {
  const { source: key, multipartId } = upload;
  const stored = multipartId === null ? null : await bucket.parts.list({ key, id: multipartId });
  const missing = missingParts(upload, stored ?? []);
  if (missing.length === 0) return stored ?? [];
  const shown = missing.slice(0, 20).join(', ');
  const more = missing.length > 20 ? ' and more' : '';
  const detail = `${missing.length} parts are missing or not of their size: ${shown}${more}.`;
  throw new KnownProblem('upload_conflict', detail);
}

/** The object that the store made of the parts, by this call or an earlier one. */
async function objectOf(dependencies: CompleteDependencies, upload: Upload): Promise<ObjectInfo> {
  const { bucket, rows } = dependencies;
  const { id, source: key, multipartId } = upload;
  const made = await bucket.objects.head(key);
  if (made !== null) {
    // A crash may have left parts. A server that may not list uploads ends them by its own rules.
    await bucket.parts.abort(key).catch(() => undefined);
    return made;
  }
  if (multipartId === null) return lost();
  const multipart = { key, id: multipartId };
  const stored = await bucket.parts.list(multipart);
  if (stored !== null && missingParts(upload, stored).length === 0) await bucket.parts.complete(multipart, stored);
  const info = await bucket.objects.head(key);
  if (info !== null) return info;
  await rows.abort(id, 'parts_lost');
  await refuse(dependencies, id);
  return lost();
}

function lost(): never {
  throw new KnownProblem('upload_conflict', endOfReason.parts_lost[1]);
}

/** Finds what is wrong with the object; null when nothing is. */
async function faultOf(
  { bucket }: CompleteDependencies,
  { source: key, sizeBytes, sha256 }: Upload,
  info: ObjectInfo,
): Promise<UploadReason | null> {
  if (info.sizeBytes !== sizeBytes) return 'size_mismatch';
  if (!(await isReadable(bucket.objects, key))) return 'unsupported';
  if (sha256 === null) return null;
  const found = await sha256Of(bucket.objects, info);
  if (found === null) return 'parts_lost';
  return found === sha256 ? null : 'sha256_mismatch';
}
