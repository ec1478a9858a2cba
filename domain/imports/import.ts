import { fitText } from '../text.ts';

/**
 * An import: a file that a worker fetches from another server into the bucket of uploads, to a key of its own.
 *
 * ```
 * queued ──▶ running ──▶ completed
 *   │           ├──────▶ failed      what another attempt would not change, or too many attempts
 *   └───────────┴──────▶ cancelled   by its caller
 * ```
 *
 * A running import is one worker's as long as its lease lasts, `due_at`. A crash leaves the parts that are stored: once
 * the lease has lapsed, another worker goes on after them. Between two attempts it stays `running`, and `due_at` is the
 * time of the next one. What a failed or cancelled import stored is removed by its worker, else by cleanup.
 */
const nextStatuses = {
  queued: ['running', 'cancelled'],
  running: ['completed', 'failed', 'cancelled'],
  completed: [],
  failed: [],
  cancelled: [],
} as const satisfies Record<string, readonly string[]>;

export type ImportStatus = keyof typeof nextStatuses;

/** Every status, in the order of an import's life. */
export const importStatuses = Object.keys(nextStatuses) as [ImportStatus, ...ImportStatus[]];

/** The statuses from which an import may become `status`: the guard of the statement that writes it. */
export function statusesBefore(status: ImportStatus): readonly ImportStatus[] {
  return importStatuses.filter((from) => (nextStatuses[from] as readonly string[]).includes(status));
}

/** The statuses in which an import is still to end. */
export const openImportStatuses = importStatuses.filter((status) => nextStatuses[status].length > 0);

/** Why an import failed, and what to do; the closed list of `error.code`. */
export const importErrors = {
  host_not_allowed:
    'The address, or a redirect, leads to a host that IMPORT_HOSTS does not name; the operator adds it.',
  address_refused: 'The host has no public address; the operator names its network in IMPORT_ALLOWED_CIDRS.',
  insecure_redirect: 'A redirect leads from https to http; import an address that stays on https.',
  too_many_redirects: 'More than 5 redirects follow one another; import the last address.',
  not_found: 'The server has no such file (404 or 410); correct the address.',
  access_denied: 'The server refuses access (401 or 403); import an address with a new signature.',
  bad_answer: 'The server answered with something else than the bytes of a file; correct the address.',
  too_large: 'The file has more bytes than IMPORT_MAX_BYTES allows; the operator raises it.',
  unsupported: 'This is not a video, audio or image file; import one that is.',
  sha256_mismatch: 'The file has another SHA-256 than was announced; check the file and the digest.',
  unavailable: 'The server did not send the file in several attempts; import it again later.',
  deadline_exceeded: 'The file did not come in time for its size; import it again later.',
  key_exists: 'The bucket has an object under the key of this import, which is never replaced; import the file again.',
} as const satisfies Record<string, string>;

export type ImportErrorCode = keyof typeof importErrors;

/** Every code, in the order of the table. */
export const importErrorCodes = Object.keys(importErrors) as [ImportErrorCode, ...ImportErrorCode[]];

/** A fault that ends an import. `httpStatus` is the status of the answer that decided it. */
export class ImportFailure extends Error {
  override readonly name = 'ImportFailure';
  readonly code: ImportErrorCode;
  readonly httpStatus: number | null;

  constructor(code: ImportErrorCode, httpStatus: number | null = null) {
    super(importErrors[code]);
    this.code = code;
    this.httpStatus = httpStatus;
  }
}

/** The row of an import. Sizes in bytes. */
export interface Import {
  /** UUID. */
  readonly id: string;
  /** The digest of the API key that began it. */
  readonly keyId: string;
  /** Where the file is; without its query, which may be a credential, once the import has ended. */
  readonly url: string;
  readonly name: string;
  /** The key of the object. */
  readonly source: string;
  /** The digest of the whole file, in lower-case hex: announced, or else measured. */
  readonly sha256: string | null;
  /** The title of the media that an event of the bucket makes of it; null: the rule decides. */
  readonly title: string | null;
  readonly status: ImportStatus;
  /** Stored so far. */
  readonly storedBytes: number;
  /** As the server said; null before, and where it does not. */
  readonly sizeBytes: number | null;
  readonly partSizeBytes: number;
  readonly contentType: string | null;
  /** The `ETag` or `Last-Modified` that the stored bytes are of; null where the server gave none to go on with. */
  readonly validator: string | null;
  /** The store's name for the parts. */
  readonly multipartId: string | null;
  /** The ETag of the object, once completed. */
  readonly etag: string | null;
  readonly errorCode: ImportErrorCode | null;
  readonly httpStatus: number | null;
  /** Attempts in a row that stored nothing. */
  readonly failures: number;
  readonly createdAt: Date;
  readonly deadlineAt: Date;
  readonly endedAt: Date | null;
}

const hourMs = 3_600_000;
const bytesPerMs = (1024 * 1024) / 1000;

/** How long a transfer may take from its first answer on: an hour, and a second for each MiB. */
export function transferMsMax(sizeBytes: number): number {
  return Math.round(hourMs + sizeBytes / bytesPerMs);
}

/** An address as it may be shown: its query may be a signature. */
export function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}

/** The name of a file by its address, for callers that give none. */
export function nameOfUrl(url: string): string {
  const last = new URL(url).pathname.split('/').at(-1) ?? '';
  return fitText(decoded(last), 255) || 'file';
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
