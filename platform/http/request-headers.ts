import { acceptedValues } from '#domain/accepted-values.ts';
import type { ByteRange } from '../storage/object-store.ts';

// The request headers of RFC 9110 that delivery and the job resource understand.

/**
 * One byte range of an object of `sizeBytes`, both ends filled in. Null for a malformed header and for several ranges,
 * which get the whole object (RFC 9110, section 14.2).
 */
export function readRange(header: string | undefined, sizeBytes: number): Required<ByteRange> | 'unsatisfiable' | null {
  const found = /^bytes=(\d*)-(\d*)$/i.exec(header?.trim() ?? '');
  const [, first = '', last = ''] = found ?? [];
  if (found === null || (first === '' && last === '')) return null;
  if (first === '') {
    const length = Math.min(Number(last), sizeBytes);
    return length === 0 ? 'unsatisfiable' : { start: sizeBytes - length, end: sizeBytes - 1 };
  }
  // As text of one length: a number of more than 15 digits is not exact.
  if (last !== '' && last.padStart(first.length, '0') < first.padStart(last.length, '0')) return null;
  const start = Number(first);
  if (start >= sizeBytes) return 'unsatisfiable';
  return { start, end: last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1) };
}

/** Whether `If-None-Match` names `etag`, by weak comparison (RFC 9110, section 13.1.2). */
export function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  const bare = etag.replace(/^W\//, '');
  return header.split(',').some((given) => given.trim().replace(/^W\//, '') === bare);
}

/** Whether `If-Match` is there and does not name `etag`, by strong comparison (RFC 9110, section 13.1.1). */
export function refusesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined || header.trim() === '*') return false;
  return etag.startsWith('W/') || header.split(',').every((given) => given.trim() !== etag);
}

/** Whether `Accept-Encoding` takes gzip. */
export function acceptsGzip(header: string | undefined): boolean {
  const codings = acceptedValues(header ?? '');
  const gzip =
    codings.find(({ name }) => name === 'gzip' || name === 'x-gzip') ?? codings.find(({ name }) => name === '*');
  return gzip?.isWanted ?? false;
}
