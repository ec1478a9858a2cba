import { ImportFailure } from './import.ts';

/** The headers of an answer, by their names in lower case. */
export type AnswerHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Why an attempt ended early; another one goes on. `retryAfter`: the header, as it came. */
export class ImportInterruption extends Error {
  override readonly name = 'ImportInterruption';
  readonly httpStatus: number | null;
  readonly retryAfter: string | null;

  constructor(
    message: string,
    {
      httpStatus = null,
      retryAfter = null,
      cause,
    }: { readonly httpStatus?: number | null; readonly retryAfter?: string | null; readonly cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.httpStatus = httpStatus;
    this.retryAfter = retryAfter;
  }
}

/** The part of a file that an answer sends. */
export interface SentFile {
  /** Where its bytes begin: as asked, or 0 when the server sends the whole again. */
  readonly offset: number;
  /** The size of the whole file; null where the server does not say. */
  readonly sizeBytes: number | null;
  readonly contentType: string | null;
  readonly validator: string | null;
}

const mediaType = /^[A-Za-z0-9!#$&^_.+-]{1,60}\/[A-Za-z0-9!#$&^_.+-]{1,60}$/;

/**
 * Reads the status and the headers of an answer; redirects were followed before.
 *
 * @param offset from which byte on the file was asked for; 0: the whole
 * @throws ImportFailure `not_found`, `access_denied`, `bad_answer`
 * @throws ImportInterruption for what may pass by itself
 */
export function readFileAnswer(status: number, headers: AnswerHeaders, offset: number): SentFile {
  if (status !== 200 && status !== 206) throw refusal(status, headers);
  if ((headerText(headers, 'content-encoding') ?? 'identity') !== 'identity')
    throw new ImportFailure('bad_answer', status);
  const type = headerText(headers, 'content-type')?.split(';', 1)[0]?.trim() ?? '';
  const about = { contentType: mediaType.test(type) ? type.toLowerCase() : null, validator: validatorOf(headers) };
  if (status === 200) return { ...about, offset: 0, sizeBytes: byteCount(headerText(headers, 'content-length')) };
  const [, start, end, size] =
    /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(headerText(headers, 'content-range') ?? '') ?? [];
  // Only the rest to its end was asked for.
  if (offset === 0 || Number(start) !== offset || Number(end) !== Number(size) - 1)
    throw new ImportFailure('bad_answer', status);
  return { ...about, offset, sizeBytes: Number(size) };
}

function refusal(status: number, headers: AnswerHeaders): Error {
  if (status === 404 || status === 410) return new ImportFailure('not_found', status);
  if (status === 401 || status === 403) return new ImportFailure('access_denied', status);
  const isPassing = status >= 500 || [408, 416, 425, 429].includes(status);
  if (!isPassing) return new ImportFailure('bad_answer', status);
  const retryAfter = headerText(headers, 'retry-after');
  return new ImportInterruption(`the server answered ${status}`, { httpStatus: status, retryAfter });
}

/**
 * The value for `If-Range` (RFC 9110, section 13.1.5): a strong `ETag`, or else a `Last-Modified` at least a second
 * before `Date`, after which the server would have given another one.
 */
function validatorOf(headers: AnswerHeaders): string | null {
  const etag = headerText(headers, 'etag');
  if (etag !== null && /^"[!#-~\u0080-\u00ff]{1,500}"$/.test(etag)) return etag;
  const modified = headerText(headers, 'last-modified') ?? '';
  const agoMs = Date.parse(headerText(headers, 'date') ?? '') - Date.parse(modified);
  return etag === null && modified.length < 64 && agoMs >= 1000 ? modified : null;
}

function headerText(headers: AnswerHeaders, name: string): string | null {
  const value = headers[name];
  return typeof value === 'string' ? value : null;
}

function byteCount(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
