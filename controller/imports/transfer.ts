import { createHash, type Hash } from 'node:crypto';
import { ImportInterruption, type SentFile } from '#domain/imports/file-answer.ts';
import { type Import, ImportFailure, transferMsMax } from '#domain/imports/import.ts';
import { missingParts } from '#domain/uploads/part-plan.ts';
import { sha256Of } from '#jobs/uploads/digest.ts';
import { isReadable, isReadableHead } from '#jobs/uploads/recognise.ts';
import type { ImportSettings } from '#platform/config/import-settings.ts';
import { imageHeadBytes } from '#platform/images/image-kinds.ts';
import { OutboundError } from '#platform/outbound-http/checked-addresses.ts';
import type { ImportLease, ImportStore } from '#platform/postgres/import-store.ts';
import type { Multipart, StoredPart } from '#platform/storage/multipart-store.ts';
import type { UploadBucket } from '#platform/storage/upload-bucket.ts';
import { openFile, type OpenFileDependencies } from './open-file.ts';
import { PartBuffer } from './part-buffer.ts';

export interface TransferDependencies extends OpenFileDependencies {
  readonly settings: ImportSettings;
  readonly rows: ImportStore;
  readonly bucket: UploadBucket;
  readonly countBytes: (bytes: number) => void;
}

/** Another attempt has the import now, or it was cancelled: this one changes nothing more. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

/** The parts in the bucket, and what has to be known to go on. */
interface Progress {
  readonly of: Multipart;
  /** In order, each of `partSizeBytes` while more follow. */
  readonly parts: StoredPart[];
  readonly sizeBytes: number | null;
  /** The digest of all bytes so far; null where an earlier attempt stored some. */
  readonly digest: Hash | null;
}

/**
 * One attempt at an import: parts that an earlier one stored → the rest of the file, by range, if it is still the same
 * file → a part at a time into the bucket → the object → its size, first bytes and digest are checked → `completed`.
 *
 * At most one part is in memory. A crash at any point leaves parts of the one file that the row names, or the whole
 * object, and the next attempt goes on from there. An object under the key that this import did not write is not
 * touched.
 *
 * @throws ImportFailure, ImportInterruption, LeaseLost; KnownProblem `storage_error`; the reason of `signal`
 */
export async function transfer(
  row: Import & ImportLease,
  dependencies: TransferDependencies,
  signal: AbortSignal,
): Promise<void> {
  const { bucket, rows } = dependencies;
  const made = await bucket.objects.head(row.source, signal);
  if (made !== null && row.multipartId === null) throw new ImportFailure('key_exists');
  // A folder's parts are there until its object is whole.
  if (made !== null) await bucket.parts.abort(row.source);
  if (made !== null) return conclude(row, dependencies, { bytes: row.storedBytes, measured: null, signal });
  const stored = await storedParts(row, dependencies);
  const progress = isWhole(row, stored)
    ? resumed(row, stored)
    : await fetchRest(row, dependencies, { stored: partsToKeep(row, stored), signal });
  const bytes = bytesOf(progress.parts);
  if (bytes === 0) throw new ImportFailure('unsupported');
  if ((await bucket.objects.head(row.source, signal)) !== null) throw new ImportFailure('key_exists');
  await unlessLost(rows.noteProgress(row, bytes));
  await bucket.parts.complete(progress.of, progress.parts);
  await conclude(row, dependencies, { bytes, measured: progress.digest?.digest('hex') ?? null, signal });
}

/** The parts that an earlier attempt stored. */
async function storedParts(
  { source: key, multipartId: id }: Import,
  { bucket }: TransferDependencies,
): Promise<StoredPart[]> {
  return id === null ? [] : ((await bucket.parts.list({ key, id })) ?? []);
}

/** Whether all of the file is stored: it ended between its last part and its object. */
function isWhole({ sizeBytes, partSizeBytes }: Import, stored: readonly StoredPart[]): boolean {
  if (sizeBytes === null || sizeBytes !== bytesOf(stored)) return false;
  return sizeBytes > 0 && missingParts({ sizeBytes, partSizeBytes }, stored).length === 0;
}

/** Whole parts from the first on, after which the file goes on; none where a server cannot say that it is the same. */
function partsToKeep({ validator, partSizeBytes }: Import, stored: StoredPart[]): StoredPart[] {
  if (validator === null) return [];
  const end = stored.findIndex(({ number, sizeBytes }, index) => number !== index + 1 || sizeBytes !== partSizeBytes);
  return end === -1 ? stored : stored.slice(0, end);
}

/** Fetches what is not stored, and stores it. */
async function fetchRest(
  row: Import & ImportLease,
  dependencies: TransferDependencies,
  { stored, signal }: { readonly stored: StoredPart[]; readonly signal: AbortSignal },
): Promise<Progress> {
  const { sent, body, close } = await openRest(row, dependencies, { stored, signal });
  try {
    const progress = sent.offset === 0 ? await beginFile(row, dependencies, sent) : resumed(row, stored);
    await store(row, dependencies, { body, progress, signal });
    return progress;
  } finally {
    close();
  }
}

async function openRest(
  row: Import,
  dependencies: TransferDependencies,
  { stored, signal }: { readonly stored: readonly StoredPart[]; readonly signal: AbortSignal },
) {
  const offset = bytesOf(stored);
  const from = row.validator === null || offset === 0 ? null : { offset, validator: row.validator };
  try {
    const answer = await openFile({ url: row.url, from, signal }, dependencies);
    if (answer.sent.offset === 0 || isSameFile(answer.sent, row)) return answer;
    answer.close();
  } catch (error) {
    // The file is shorter now than what is stored of it.
    if (!(error instanceof ImportInterruption && error.httpStatus === 416 && from !== null)) throw error;
  }
  return openFile({ url: row.url, from: null, signal }, dependencies);
}

/** Whether a rest is of the file that the row names, whether or not its server heeds `If-Range`. */
function isSameFile({ sizeBytes, validator }: SentFile, row: Import): boolean {
  return sizeBytes === row.sizeBytes && validator === row.validator;
}

function resumed({ source: key, multipartId: id, sizeBytes }: Import, parts: StoredPart[]): Progress {
  return { of: { key, id: id ?? '' }, parts, sizeBytes, digest: null };
}

/** Begins the file, also again: the parts of another state of it are given up. */
async function beginFile(
  row: Import & ImportLease,
  { bucket, rows, settings }: TransferDependencies,
  { sizeBytes, contentType, validator }: SentFile,
): Promise<Progress> {
  if (sizeBytes !== null && sizeBytes > settings.bytesMax) throw new ImportFailure('too_large');
  const key = row.source;
  await bucket.parts.abort(key);
  const id = await bucket.parts.begin(key, { contentType: contentType ?? 'application/octet-stream' });
  const file = { sizeBytes, contentType, validator, multipartId: id };
  await unlessLost(rows.noteFile(row, { ...file, transferMsMax: transferMsMax(sizeBytes ?? settings.bytesMax) }));
  return { of: { key, id }, parts: [], sizeBytes, digest: createHash('sha256') };
}

/** Stores the body in parts, as they become full. */
async function store(
  row: Import & ImportLease,
  { bucket, rows, settings, countBytes }: TransferDependencies,
  { body, progress, signal }: { readonly body: AsyncIterable<Buffer>; progress: Progress; signal: AbortSignal },
): Promise<void> {
  const { of, parts, digest, sizeBytes } = progress;
  const buffer = new PartBuffer(row.partSizeBytes);
  const flush = async () => {
    const content = buffer.content();
    if (parts.length === 0 && !isReadableHead(content.subarray(0, imageHeadBytes)))
      throw new ImportFailure('unsupported');
    parts.push(await bucket.parts.put(of, parts.length + 1, { body: content, sizeBytes: content.length, signal }));
    digest?.update(content);
    countBytes(content.length);
    buffer.clear();
    await unlessLost(rows.noteProgress(row, bytesOf(parts)));
  };
  const most = sizeBytes ?? settings.bytesMax;
  let bytes = bytesOf(parts);
  for await (const piece of interruptible(body)) {
    bytes += piece.length;
    // More than was announced is no file to go on with; more than is accepted, none at all.
    if (bytes > most) throw new ImportFailure(sizeBytes === null ? 'too_large' : 'bad_answer');
    for (let rest = piece; rest.length > 0;) {
      rest = buffer.fill(rest);
      if (buffer.isFull) await flush();
    }
  }
  // What is missing comes with the next attempt; a part in the middle must be whole.
  if (sizeBytes !== null && bytes < sizeBytes) throw new ImportInterruption(`${bytes} bytes came of ${sizeBytes}`);
  if (buffer.length > 0) await flush();
}

async function* interruptible(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* body;
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    throw new ImportInterruption(error.message, { cause: error });
  }
}

/** Checks the object and ends the import. */
async function conclude(
  row: Import & ImportLease,
  { bucket, rows }: TransferDependencies,
  { bytes, measured, signal }: { readonly bytes: number; readonly measured: string | null; signal: AbortSignal },
): Promise<void> {
  const key = row.source;
  const info = await bucket.objects.head(key);
  if (info === null) throw new ImportInterruption('the store lost the parts');
  if (info.sizeBytes !== bytes) throw new ImportFailure('key_exists');
  if (!(await isReadable(bucket.objects, key))) throw new ImportFailure('unsupported');
  const isToRead = measured === null && row.sha256 !== null;
  const sha256 = isToRead ? await sha256Of(bucket.objects, info, signal) : measured;
  if (row.sha256 !== null && sha256 !== row.sha256) throw new ImportFailure('sha256_mismatch');
  const { etag, sizeBytes } = info;
  await unlessLost(rows.complete(row, { url: row.url, etag, sizeBytes, sha256 }));
}

/** @throws LeaseLost */
async function unlessLost(isStillHeld: Promise<boolean>): Promise<void> {
  if (!(await isStillHeld)) throw new LeaseLost('another attempt has the import, or it was cancelled');
}

function bytesOf(parts: readonly StoredPart[]): number {
  return parts.reduce((bytes, part) => bytes + part.sizeBytes, 0);
}
