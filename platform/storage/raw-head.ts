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

const wanted = ['content-length', 'etag', 'last-modified'] as const;
/** With any of these the body is not simply the object's bytes up to its length. */
const unfit = new Set(['transfer-encoding', 'content-encoding', 'content-range', 'trailer', 'upgrade']);
const headerForm = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\u0020-\u007e\u0080-\u00ff]*?)[ \t]*$/;

/**
 * Reads the head at the beginning of `bytes`. `incomplete` until its empty line has come; `unfit` for anything but a
 * 200 of HTTP/1.1 with one length, an ETag and a date: others are asked for again in the careful way.
 */
export function readRawHead(bytes: Buffer): RawHead | 'incomplete' | 'unfit' {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return 'incomplete';
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  if (!/^HTTP\/1\.1 200(?: |$)/.test(statusLine)) return 'unfit';
  const found: Partial<Record<string, string>> = {};
  for (const line of lines) {
    const [, name = '', value = ''] = headerForm.exec(line) ?? [];
    const key = name.toLowerCase();
    // A name that comes twice, or a line that is none, may be read in two ways.
    if (key === '' || unfit.has(key) || (wanted.some((it) => it === key) && key in found)) return 'unfit';
    found[key] = `${found[key] === undefined ? '' : `${found[key]},`}${value}`;
  }
  const { 'content-length': length = '', etag = '', 'last-modified': date = '' } = found;
  const lastModified = new Date(date);
  if (!/^\d{1,15}$/.test(length) || etag === '' || Number.isNaN(lastModified.getTime())) return 'unfit';
  const isKeptAlive = !/(?:^|,)\s*close\s*(?:,|$)/i.test(found['connection'] ?? '');
  return { headBytes: end + 4, sizeBytes: Number(length), etag, lastModified, isKeptAlive };
}
