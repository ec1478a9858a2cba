import { z } from 'zod';
import type { MediaCursor, MediaFilter } from '#platform/postgres/media-list.ts';
import { readCursor, writeCursor } from './cursor.ts';

const values = {
  age: z.iso.datetime(),
  expiry: z.iso.datetime(),
  bytes: z.string().regex(/^\d{1,18}$/),
  prefix: z.literal(''),
} as const satisfies Record<MediaFilter['by'], z.ZodType<string>>;

/** The cursor of the page after a media. */
export function writeMediaCursor(by: MediaFilter['by'], { value, hash }: MediaCursor): string {
  return writeCursor([by, value, hash]);
}

/** @throws KnownProblem `invalid_request` for one of another list, or of other filters */
export function readMediaCursor(by: MediaFilter['by'], text: string): MediaCursor {
  const [, value, hash] = readCursor(z.tuple([z.literal(by), values[by], z.string().min(1).max(128)]), text);
  return { value, hash };
}
