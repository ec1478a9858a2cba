import { z } from 'zod';
import { KnownProblem } from '#domain/errors.ts';
import type { Job } from '#domain/jobs/job.ts';
import type { JobCursor } from '#platform/postgres/job-list.ts';

const cursorSchema = z.tuple([z.int().min(0).max(8.64e15), z.uuid()]);

/** The cursor of the page after `job`. Opaque to callers: its content may change. */
export function writeCursor({ createdAt, id }: Pick<Job, 'createdAt' | 'id'>): string {
  return Buffer.from(JSON.stringify([createdAt.getTime(), id])).toString('base64url');
}

/** @throws KnownProblem `invalid_request` */
export function readCursor(text: string): JobCursor {
  try {
    const [createdAtMs, id] = cursorSchema.parse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')));
    return { createdAt: new Date(createdAtMs), id };
  } catch (cause) {
    const fault = { pointer: '/cursor', code: 'invalid_cursor', detail: 'is not a next_cursor of this list' };
    throw new KnownProblem('invalid_request', undefined, { faults: [fault], cause });
  }
}
