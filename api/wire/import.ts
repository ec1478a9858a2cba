import { z } from 'zod';
import { type Import, importErrorCodes, importErrors, importStatuses, withoutQuery } from '#domain/imports/import.ts';
import { callerUrlSchema } from '#domain/jobs/submission.ts';
import { titleSchema } from '#domain/media/description.ts';
import { answers, bodies } from '#platform/http/route-doc.ts';
import { contentTypeField, count, etagField, fileNameField, lineOfText, nextCursorField, pageQuery } from './fields.ts';
import { sha256Example, sha256Schema, sourceField, time, titleField, titleOfFile } from './fields.ts';

const importErrorSchema = z.object({
  code: z.enum(importErrorCodes).describe('The code of the error.'),
  message: z
    .string()
    .describe('What to do, for people.')
    .meta({ examples: [importErrors.not_found] }),
  http_status: z
    .int()
    .nullable()
    .describe("The status of the server's answer that decided it; null without one.")
    .meta({ examples: [404] }),
});

export const importSchema = z
  .object({
    import_id: z.uuid().describe('The import.'),
    status: z.enum(importStatuses).describe('The status of the import.'),
    url: z
      .string()
      .describe('The address without its query, which may be a signature.')
      .meta({ examples: ['https://media.example.com/movie-1.mp4'] }),
    name: fileNameField,
    source: sourceField.describe('The key of the object, for submissions once the import has completed.'),
    bytes: count.describe('Bytes stored so far.').meta({ examples: [8_388_608] }),
    size: count
      .nullable()
      .describe('The size of the file in bytes; null before the first answer, and where the server does not say.')
      .meta({ examples: [9_437_184] }),
    content_type: contentTypeField.nullable().describe('The media type that the server says.'),
    sha256: z
      .string()
      .nullable()
      .describe('The announced SHA-256, else the measured one where one attempt fetched the whole file; in hex.')
      .meta(sha256Example),
    title: titleField.describe(`${titleOfFile} Null: none was announced.`),
    etag: etagField
      .nullable()
      .describe('The ETag of the object, once the import has completed.')
      .meta({ examples: [null] }),
    error: importErrorSchema
      .nullable()
      .describe('Why it failed; null otherwise.')
      .meta({ examples: [null] }),
    created_at: time.describe('When it was begun.'),
    deadline_at: time.describe('When it fails unless it has ended.'),
    ended_at: time
      .nullable()
      .describe('When it ended.')
      .meta({ examples: [null] }),
  })
  .register(answers, { id: 'Import' });

export const importListSchema = z
  .object({ imports: z.array(importSchema).describe('The imports, the newest first.'), next_cursor: nextCursorField })
  .register(answers, { id: 'ImportList' });

/** The body of `POST /api/imports`. */
export const importBodySchema = z
  .strictObject({
    url: callerUrlSchema
      .describe('An http or https address; its host is one that IMPORT_HOSTS names.')
      .meta({ examples: ['https://media.example.com/movie-1.mp4'] }),
    name: lineOfText(255)
      .min(1)
      .optional()
      .describe("By default the last segment of the address; the object's key ends with what keys may have of it.")
      .meta({ examples: ['movie-1.mp4'] }),
    sha256: sha256Schema.optional().describe('The SHA-256 of the whole file in hex; checked at its end.'),
    title: titleSchema.optional().describe(titleOfFile),
  })
  .register(bodies, { id: 'CreateImportRequest' });

/** The query of `GET /api/imports`. */
export const importListQuerySchema = z.strictObject(pageQuery);

/** An import as callers see it. */
export function importToWire(row: Import): z.output<typeof importSchema> {
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
    title: row.title,
    etag: row.etag,
    error:
      errorCode === null ? null : { code: errorCode, message: importErrors[errorCode], http_status: row.httpStatus },
    created_at: row.createdAt.toISOString(),
    deadline_at: row.deadlineAt.toISOString(),
    ended_at: row.endedAt?.toISOString() ?? null,
  };
}
