// The head of an HTTP/1.1 answer (RFC 9112), read narrowly: what the fast way to storage can go on with, and nothing else.

/** What must be known of an answer whose body is read off the socket. */
export interface RawHead {
  /** Of the head, its empty line included. */
  readonly headBytes: number;
  readonly sizeBytes: number;
  readonly etag: string;
  readonly lastModified: Date;
  /** Whether the connection may be used again. */
  readonly isKeptAlive: boolean;
}

/** The headers that are looked at, with their values. */
const known =
  /\n(content-length|etag|last-modified|connection|transfer-encoding|content-encoding|content-range|trailer|upgrade):[ \t]*([^\r]*?)[ \t]*(?=\r)/gi;
/** With any of these the body is not simply the object's bytes up to its length. */
const unfit = ['transfer-encoding', 'content-encoding', 'content-range', 'trailer', 'upgrade'];
/** A 200, and lines that are headers and nothing else: what can be read in two ways is not read at all. */
const headForm =
  /^HTTP\/1\.1 200(?: [^\r\n]*)?\r\n(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\u0020-\u007e\u0080-\u00ff]*\r\n)*$/;

/**
 * Reads the head at the beginning of `bytes`. `incomplete` until its empty line has come; `unfit` for anything but a
 * 200 of HTTP/1.1 with one length, an ETag and a date: others are asked for again in the careful way.
 */
export function readRawHead(bytes: Buffer): RawHead | 'incomplete' | 'unfit' {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return 'incomplete';
  const text = bytes.toString('latin1', 0, end + 2);
  if (!headForm.test(text)) return 'unfit';
  const found: Partial<Record<string, string>> = {};
  let isKeptAlive = true;
  for (const [, name = '', value = ''] of text.matchAll(known)) {
    const field = name.toLowerCase();
    if (field === 'connection') isKeptAlive &&= !/(?:^|,)\s*close\s*(?:,|$)/i.test(value);
    else if (field in found || unfit.includes(field)) return 'unfit';
    else found[field] = value;
  }
  const { 'content-length': length = '', etag = '', 'last-modified': date = '' } = found;
  const lastModified = new Date(date);
  if (!/^\d{1,15}$/.test(length) || etag === '' || Number.isNaN(lastModified.getTime())) return 'unfit';
  return { headBytes: end + 4, sizeBytes: Number(length), etag, lastModified, isKeptAlive };
}
