import type { z } from 'zod';
import { KnownProblem } from '#domain/errors.ts';

// Where a page of a list ended, for the next one. Opaque to callers: its content may change.

export function writeCursor(value: readonly unknown[]): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** @throws KnownProblem `invalid_request` for one of another list, or of other filters */
export function readCursor<Value>(schema: z.ZodType<Value>, text: string): Value {
  try {
    return schema.parse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')));
  } catch (cause) {
    const detail = 'is not a next_cursor of this list with the same filters';
    throw new KnownProblem('invalid_request', undefined, {
      faults: [{ pointer: '/cursor', code: 'invalid_cursor', detail }],
      cause,
    });
  }
}
