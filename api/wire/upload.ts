import { z } from 'zod';
import { KnownProblem } from '#domain/errors.ts';
import { listedPartsMax, partCount, partsMax, sizeOfPart } from '#domain/uploads/part-plan.ts';
import { titleSchema } from '#domain/media/description.ts';
import { type Upload, uploadReasons, uploadStatuses } from '#domain/uploads/upload.ts';
import { answers, bodies } from '#platform/http/route-doc.ts';
import type { StoredPart } from '#platform/storage/multipart-store.ts';
import {
  contentTypeField,
  etagField,
  fileNameField,
  lineOfText,
  sha256Example,
  sha256Schema,
  sourceField,
  time,
  titleField,
  titleOfFile,
} from './fields.ts';

const partSchema = z.object({
  number: z.int().min(1).describe('Its number, from 1.'),
  size: z
    .int()
    .min(1)
    .describe('Its size in bytes.')
    .meta({ examples: [8_388_608] }),
  url: z
    .string()
    .describe('Where its bytes are sent to with PUT, without a further credential.')
    .meta({ examples: ['https://s3.example.com/…'] }),
  uploaded: z.boolean().describe('Whether it is stored with its whole size.'),
  etag: etagField.nullable().describe('The ETag of the part; null until it is stored.'),
});

export const uploadSchema = z
  .object({
    upload_id: z.uuid().describe('The upload.'),
    status: z.enum(uploadStatuses).describe('The status of the upload; only an open one takes parts.'),
    reason: z
      .enum(uploadReasons)
      .nullable()
      .describe('Why it was aborted; null otherwise.')
      .meta({ examples: [null] }),
    source: sourceField.describe('The key of the object, for submissions.'),
    name: fileNameField,
    size: z
      .int()
      .min(1)
      .describe('The size of the file in bytes.')
      .meta({ examples: [8_388_608] }),
    content_type: contentTypeField.nullable().describe('The media type that was announced.'),
    sha256: z
      .string()
      .nullable()
      .describe('The SHA-256 of the whole file that was announced, in hex.')
      .meta(sha256Example),
    title: titleField.describe(`${titleOfFile} Null: none was announced.`),
    etag: etagField
      .nullable()
      .describe('The ETag of the object, once the upload has completed.')
      .meta({ examples: [null] }),
    part_size: z
      .int()
      .min(1)
      .describe('The size of every part but the last, in bytes.')
      .meta({ examples: [8_388_608] }),
    parts: z.array(partSchema).describe('At most 1,000 parts, while the upload is open.'),
    next_part: z
      .int()
      .nullable()
      .describe('The `part_from` of the next page of parts; null on the last.')
      .meta({ examples: [null] }),
    created_at: time.describe('When it was begun.'),
    expires_at: time.describe('When it is aborted unless it has completed.'),
  })
  .register(answers, { id: 'Upload' });

/** The body of `POST /api/uploads`. */
export const uploadBodySchema = z
  .strictObject({
    name: lineOfText(255)
      .min(1)
      .describe("The name of the file; the object's key ends with what keys may have of it.")
      .meta({ examples: ['movie-1.mp4'] }),
    size: z
      .int()
      .min(1)
      .describe('The size of the file in bytes.')
      .meta({ examples: [9_437_184] }),
    content_type: z
      .string()
      .max(127)
      .regex(/^[A-Za-z0-9!#$&^_.+-]+\/[A-Za-z0-9!#$&^_.+-]+$/, 'must be a media type, such as video/mp4')
      .optional()
      .describe('The media type of the object.')
      .meta({ examples: ['video/mp4'] }),
    sha256: sha256Schema.optional().describe('The SHA-256 of the whole file in hex; checked on completion.'),
    title: titleSchema.optional().describe(titleOfFile),
  })
  .register(bodies, { id: 'CreateUploadRequest' });

/** The query of `GET /api/uploads/{id}`. */
export const uploadQuerySchema = z.strictObject({
  part_from: z.coerce
    .number<string>()
    .int()
    .min(1)
    .max(partsMax)
    .default(1)
    .describe('The number of the first part of the answer.'),
});

/** The query of `PUT /api/uploads/{id}/parts/{number}`. */
export const uploadPartQuerySchema = z.strictObject({
  exp: z.string().optional().describe('Until when the address is valid, in Unix seconds.'),
  sig: z.string().optional().describe('The signature of the address.'),
});

/** The parts of an answer. */
export interface ShownParts {
  /** The first of them. */
  readonly from: number;
  readonly stored: readonly StoredPart[];
  readonly addressOf: (number: number) => Promise<string>;
}

/** An upload with one page of its parts; null: it takes none any more. */
export async function uploadToWire(upload: Upload, shown: ShownParts | null): Promise<z.output<typeof uploadSchema>> {
  const count = partCount(upload);
  const end = shown === null ? 0 : Math.min(count, shown.from + listedPartsMax - 1);
  return {
    upload_id: upload.id,
    status: upload.status,
    reason: upload.reason,
    source: upload.source,
    name: upload.name,
    size: upload.sizeBytes,
    content_type: upload.contentType,
    sha256: upload.sha256,
    title: upload.title,
    etag: upload.etag,
    part_size: upload.partSizeBytes,
    parts: shown === null ? [] : await partsToWire(upload, { ...shown, end }),
    next_part: shown !== null && end < count ? end + 1 : null,
    created_at: upload.createdAt.toISOString(),
    expires_at: upload.expiresAt.toISOString(),
  };
}

function partsToWire(upload: Upload, { from, end, stored, addressOf }: ShownParts & { readonly end: number }) {
  const byNumber = new Map(stored.map((part) => [part.number, part]));
  const numbers = Array.from({ length: Math.max(0, end - from + 1) }, (_, index) => from + index);
  return Promise.all(
    numbers.map(async (number) => {
      const size = sizeOfPart(upload, number);
      const part = byNumber.get(number);
      const isUploaded = part?.sizeBytes === size;
      return { number, size, url: await addressOf(number), uploaded: isUploaded, etag: isUploaded ? part.etag : null };
    }),
  );
}

/** The number in an address; @throws KnownProblem `not_found` where the upload has no such part */
export function partNumberOf(text: string, upload: Upload): number {
  const number = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > partCount(upload)) throw new KnownProblem('not_found', 'The upload has no such part.');
  return number;
}
