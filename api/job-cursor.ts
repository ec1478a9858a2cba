import { z } from 'zod';
import type { Job } from '#domain/jobs/job.ts';
import type { JobCursor } from '#platform/postgres/job-list.ts';
import { readCursor, writeCursor } from './cursor.ts';

const cursorSchema = z.tuple([z.int().min(0).max(8.64e15), z.uuid()]);

/** The cursor of the page after `job`. */
export function writeJobCursor({ createdAt, id }: Pick<Job, 'createdAt' | 'id'>): string {
  return writeCursor([createdAt.getTime(), id]);
}

/** @throws KnownProblem `invalid_request` */
export function readJobCursor(text: string): JobCursor {
  const [createdAtMs, id] = readCursor(cursorSchema, text);
  return { createdAt: new Date(createdAtMs), id };
}
