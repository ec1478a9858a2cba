import { z } from 'zod';
import { mediaHashSchema } from '#domain/jobs/submission.ts';
import type { MediaCursor, MediaFilter } from '#platform/postgres/media-list.ts';
import { readCursor, writeCursor } from './cursor.ts';

/** PostgreSQL has no year 0. */
const time = z.iso.datetime().refine((text) => text >= '0001', 'must be a time that the database has');
const values = {
  age: time,
  expiry: time,
  bytes: z.string().regex(/^\d{1,18}$/),
  prefix: z.literal(''),
  search: z.literal(''),
  metadata: z.literal(''),
} as const satisfies Record<MediaFilter['by'], z.ZodType<string>>;

/** The cursor of the page after a media. */
export function writeMediaCursor(by: MediaFilter['by'], { value, hash }: MediaCursor): string {
  return writeCursor([by, value, hash]);
}

/** @throws KnownProblem `invalid_request` for one of another list, or of other filters */
export function readMediaCursor(by: MediaFilter['by'], text: string): MediaCursor {
  const [, value, hash] = readCursor(z.tuple([z.literal(by), values[by], mediaHashSchema]), text);
  return { value, hash };
}
