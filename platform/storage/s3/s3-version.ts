// Versions of objects that a store does not compare: gateways to file systems name none, and proxies that compress name
// weak ones, which `If-Match` never matches (RFC 9110, 13.1.1). We compare them ourselves with what is answered.

const madeStart = '"dated-';
const weakStart = 'W/';

/** The version of an object without an ETag: its size, and when it was written. */
export function versionOf(sizeBytes: number, lastModified: Date): string {
  return `${madeStart}${sizeBytes}-${lastModified.getTime()}"`;
}

/** Whether a store compares the version by itself. */
export function isSent(version: string): boolean {
  return !version.startsWith(madeStart) && !version.startsWith(weakStart);
}

/** Whether two versions are of the same bytes; a weak one is taken for the object's, whatever became of it on the way. */
export function isMatched(expected: string, found: string): boolean {
  return strong(expected) === strong(found);
}

function strong(version: string): string {
  return version.startsWith(weakStart) ? version.slice(weakStart.length) : version;
}
