import type { z } from 'zod';
import { KnownProblem } from '#domain/errors.ts';
import { explain, faultsOf } from '#domain/jobs/faults.ts';

/** Parses a part of a request by its schema. @throws KnownProblem `invalid_request` with every fault of `input` */
export function validated<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const parsed = schema.safeParse(input, { error: explain });
  if (parsed.success) return parsed.data;
  throw new KnownProblem('invalid_request', undefined, { faults: faultsOf(parsed.error, { schema }) });
}
