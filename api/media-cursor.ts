import { z } from 'zod';
import { KnownProblem } from '#domain/errors.ts';
import type { MediaCursor, MediaFilter } from '#platform/postgres/media-list.ts';

const values = {
  age: z.iso.datetime(),
  expiry: z.iso.datetime(),
  bytes: z.string().regex(/^\d{1,18}$/),
  prefix: z.literal(''),
} as const satisfies Record<MediaFilter['by'], z.ZodType<string>>;

/** The cursor of the page that follows; opaque to callers. */
export function writeMediaCursor(by: MediaFilter['by'], { value, hash }: MediaCursor): string {
  return Buffer.from(JSON.stringify([by, value, hash])).toString('base64url');
}

/** @throws KnownProblem `invalid_request` for one of another list, or of other filters */
export function readMediaCursor(by: MediaFilter['by'], text: string): MediaCursor {
  try {
    const schema = z.tuple([z.literal(by), values[by], z.string().min(1).max(128)]);
    const [, value, hash] = schema.parse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')));
    return { value, hash };
  } catch (cause) {
    const detail = 'is not a next_cursor of this list with the same filters';
    throw new KnownProblem('invalid_request', undefined, {
      faults: [{ pointer: '/cursor', code: 'invalid_cursor', detail }],
      cause,
    });
  }
}
