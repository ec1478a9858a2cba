import type { ByteRange } from '../../object-store.ts';

// The head of an HTTP/1.1 answer (RFC 9112), read narrowly: what the raw path to storage can use, and nothing else.

/** The head of an answer whose body is read off the socket. */
export interface RawHead {
  /** The length of the head, its empty line included. */
  readonly headBytes: number;
  readonly bodyBytes: number;
  /** The length of the whole object. */
  readonly sizeBytes: number;
  readonly etag: string;
  readonly lastModified: Date;
  /** Whether the connection may be used again. */
  readonly isKeptAlive: boolean;
}

/** With any of these the body is not simply the object's bytes up to its length. */
const unfit = /\n(?:transfer-encoding|content-encoding|trailer|upgrade):/i;
const contentLength = /\ncontent-length:([^\r]*)/i;
const contentRange = /\ncontent-range:([^\r]*)/i;
const entityTag = /\netag:([^\r]*)/i;
const modified = /\nlast-modified:([^\r]*)/i;
const closing = /\nconnection:(?:[^\r]*,)?[ \t]*close[ \t]*[,\r]/i;
/** A 200 or 206, and lines that are headers and nothing else: an ambiguous head is refused. */
const headForm =
  /^HTTP\/1\.1 (200|206)(?: [^\r\n]*)?\r\n(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\u0020-\u007e\u0080-\u00ff]*\r\n)*$/;

/**
 * Reads the head at the beginning of `bytes`. `incomplete` until its empty line has come; `unfit` for anything but a
 * 200 of HTTP/1.1, or a 206 with just the range that was requested, with one length, an ETag and a date, which is left
 * to the SDK path.
 */
export function readRawHead(bytes: Buffer, range?: Required<ByteRange>): RawHead | 'incomplete' | 'unfit' {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return 'incomplete';
  const text = bytes.toString('latin1', 0, end + 2);
  const status = headForm.exec(text)?.[1];
  if (status !== (range === undefined ? '200' : '206') || unfit.test(text)) return 'unfit';
  const bodyBytes = Number(/^[ \t]*(\d{1,15})[ \t]*$/.exec(only(text, contentLength))?.[1]);
  const sizeBytes = range === undefined ? wholeBytes(text, bodyBytes) : totalBytes(text, range, bodyBytes);
  const etag = only(text, entityTag).trim();
  const lastModified = new Date(only(text, modified).trim());
  if (Number.isNaN(sizeBytes) || etag === '' || Number.isNaN(lastModified.getTime())) return 'unfit';
  return { headBytes: end + 4, bodyBytes, sizeBytes, etag, lastModified, isKeptAlive: !closing.test(text) };
}

const wholeBytes = (text: string, bodyBytes: number) => (contentRange.test(text) ? Number.NaN : bodyBytes);

/** The size of the object whose range is the body; not a number when it is another range. */
function totalBytes(text: string, { start, end }: Required<ByteRange>, bodyBytes: number): number {
  const wanted = `bytes ${start}-${end}/`;
  const given = only(text, contentRange).trim();
  const isWanted = given.startsWith(wanted) && /^\d{1,15}$/.test(given.slice(wanted.length));
  return isWanted && bodyBytes === end - start + 1 ? Number(given.slice(wanted.length)) : Number.NaN;
}

/** The beginning of a response that refuses: no such object, or a server that fails. */
const refusalForm = /^HTTP\/1\.1 (404|429|5\d\d)(?: [^\r\n]*)?\r\n/;

/** The status of a 404, 429 or 5xx of HTTP/1.1 whose head has come whole, else null. */
export function readRefusal(bytes: Buffer): number | null {
  // Nearly every response is a 2xx, by the first digit of its status.
  const end = bytes[9] === 0x32 ? -1 : bytes.indexOf('\r\n\r\n');
  const status = end < 0 ? undefined : refusalForm.exec(bytes.toString('latin1', 0, end + 2))?.[1];
  return status === undefined ? null : Number(status);
}

/**
 * Reads a 404 whose head has come: `bucket` when the bucket is missing, else `object`, with whether the connection is
 * at the beginning of another response; `incomplete` until the body has come or says so.
 */
export function readMissing(
  bytes: Buffer,
): { readonly what: 'bucket' | 'object'; readonly isReusable: boolean } | 'incomplete' {
  const headBytes = bytes.indexOf('\r\n\r\n') + 4;
  const head = bytes.toString('latin1', 0, headBytes - 2);
  const body = bytes.toString('latin1', headBytes);
  const length = /^[ \t]*(\d{1,15})[ \t]*$/.exec(only(head, contentLength))?.[1];
  const isChunked = /\ntransfer-encoding:/i.test(head);
  const isWhole = isChunked ? body.endsWith('0\r\n\r\n') : length !== undefined && body.length >= Number(length);
  const what = body.includes('<Code>NoSuchBucket</Code>') ? 'bucket' : 'object';
  if (!isWhole && !body.includes('</Code>')) return 'incomplete';
  const isReusable = !isChunked && body.length === Number(length) && !closing.test(head);
  return { what, isReusable };
}

/** The value of a header that is there once; empty when it is not there, or again. */
function only(text: string, header: RegExp): string {
  const found = header.exec(text);
  return found === null || header.test(text.slice(found.index + 1)) ? '' : (found[1] ?? '');
}
