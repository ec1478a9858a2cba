import { KnownProblem } from '#domain/errors.ts';
import type { ByteRange } from './object-store.ts';

/**
 * First and last byte to read; of an empty range the last is one before the first.
 *
 * @throws KnownProblem `storage_error` when the range begins past the object's end, as S3 answers 416
 */
export function rangeWithin(sizeBytes: number, range: ByteRange | undefined): { start: number; end: number } {
  if (range === undefined) return { start: 0, end: sizeBytes - 1 };
  const { start } = range;
  const end = Math.min(range.end ?? sizeBytes - 1, sizeBytes - 1);
  const isReadable = Number.isSafeInteger(start) && start >= 0 && start < sizeBytes && end >= start;
  if (!isReadable) throw new KnownProblem('storage_error', 'The range lies outside the object.');
  return { start, end };
}
