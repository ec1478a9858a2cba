/**
 * An upload: a file on its way into the source bucket, in parts, to a key that is the upload's alone.
 *
 * ```
 * open ──▶ completing ──▶ completed
 *   │           │
 *   ├───────────┴──▶ aborted   deleted by its caller, or refused on completion
 *   └───────────┴──▶ expired   not completed in time
 * ```
 *
 * A crash in `completing` leaves parts, or the whole object: the next call of complete goes on from there. What an
 * aborted or expired upload stored is removed by whoever ends it, else by the worker, which then notes it in the row.
 */
const nextStatuses = {
  open: ['completing', 'aborted', 'expired'],
  completing: ['completed', 'aborted', 'expired'],
  completed: [],
  aborted: [],
  expired: [],
} as const satisfies Record<string, readonly string[]>;

export type UploadStatus = keyof typeof nextStatuses;

/** Every status, in the order of an upload's life. */
export const uploadStatuses = Object.keys(nextStatuses) as [UploadStatus, ...UploadStatus[]];

/** The statuses from which an upload may become `status`: the guard of the statement that writes it. */
export function statusesBefore(status: UploadStatus): readonly UploadStatus[] {
  return uploadStatuses.filter((from) => (nextStatuses[from] as readonly string[]).includes(status));
}

/** Why an upload was aborted. */
export const uploadReasons = ['deleted', 'unsupported', 'size_mismatch', 'sha256_mismatch', 'parts_lost'] as const;
export type UploadReason = (typeof uploadReasons)[number];

/** The row of an upload. Sizes in bytes. */
export interface Upload {
  /** UUID. */
  readonly id: string;
  /** The digest of the API key that began it. */
  readonly keyId: string;
  /** As the caller gave it. */
  readonly name: string;
  /** The key of the object. */
  readonly source: string;
  readonly sizeBytes: number;
  readonly partSizeBytes: number;
  readonly contentType: string | null;
  /** The title of the media that an event of the bucket makes of it; null: the rule decides. */
  readonly title: string | null;
  /** The digest of the whole file, in lower-case hex, where the caller announced it. */
  readonly sha256: string | null;
  /** The store's name for the parts; null until the store has given one. */
  readonly multipartId: string | null;
  readonly status: UploadStatus;
  readonly reason: UploadReason | null;
  /** The ETag of the object, once completed. */
  readonly etag: string | null;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}
