import { z } from 'zod';
import { KnownProblem } from '#domain/errors.ts';
import { notFound } from '#platform/http/problem-response.ts';

// What is answered for things that are not there, and for those that another owner has: the same.

const adviceForNames = 'A job_id is a UUID. GET /api/jobs?hash= lists the jobs of a hash.';

/** The problem `not_found` of a job's id, which says what ids look like. */
export function noSuchJob(id: string): KnownProblem {
  if (id === '') return notFound('/api/jobs/');
  return new KnownProblem('not_found', z.uuid().safeParse(id).success ? 'There is no such job.' : adviceForNames);
}

export const noSuchUpload = (): KnownProblem => new KnownProblem('not_found', 'There is no such upload.');
export const noSuchImport = (): KnownProblem => new KnownProblem('not_found', 'There is no such import.');
