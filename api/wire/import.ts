import { type Import, importErrors, withoutQuery } from '#domain/imports/import.ts';
import type { Wire } from './schemas.ts';

/** An import as callers see it. */
export function importToWire(row: Import): Wire<'Import'> {
  const { errorCode } = row;
  return {
    import_id: row.id,
    status: row.status,
    url: withoutQuery(row.url),
    name: row.name,
    source: row.source,
    bytes: row.storedBytes,
    size: row.sizeBytes,
    content_type: row.contentType,
    sha256: row.sha256,
    etag: row.etag,
    error:
      errorCode === null ? null : { code: errorCode, message: importErrors[errorCode], http_status: row.httpStatus },
    created_at: row.createdAt.toISOString(),
    deadline_at: row.deadlineAt.toISOString(),
    ended_at: row.endedAt?.toISOString() ?? null,
  };
}
