import { KnownProblem } from '#domain/errors.ts';

/** As Amazon S3 limits keys. */
const keyBytesMax = 1024;

/**
 * Refuses keys that no store accepts: empty ones, ones over 1024 bytes of UTF-8, ones with a lone surrogate or NUL,
 * and ones with a `.` or `..` segment, which a server or a file system may resolve to another place.
 *
 * @throws KnownProblem `storage_error`
 */
export function checkKey(key: string): void {
  const isTaken =
    key !== '' &&
    Buffer.byteLength(key) <= keyBytesMax &&
    key.isWellFormed() &&
    !key.includes('\0') &&
    !/(?:^|\/)\.\.?(?:\/|$)/.test(key);
  if (!isTaken) throw new KnownProblem('storage_error', 'The key is not valid for an object.');
}

/** The order of keys in listings: by their UTF-8 bytes, as S3 has it (and not JavaScript's by UTF-16). */
export function compareKeys(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
