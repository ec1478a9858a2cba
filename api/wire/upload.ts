import { KnownProblem } from '#domain/errors.ts';
import { listedPartsMax, partCount, sizeOfPart } from '#domain/uploads/part-plan.ts';
import type { Upload } from '#domain/uploads/upload.ts';
import type { StoredPart } from '#platform/storage/multipart-store.ts';
import type { Wire } from './schemas.ts';

/** The parts of an answer. */
export interface ShownParts {
  /** The first of them. */
  readonly from: number;
  readonly stored: readonly StoredPart[];
  readonly addressOf: (number: number) => Promise<string>;
}

/** An upload with one page of its parts; null: it takes none any more. */
export async function uploadToWire(upload: Upload, shown: ShownParts | null): Promise<Wire<'Upload'>> {
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
