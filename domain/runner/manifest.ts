import { z } from 'zod';
import { jobTypeNames, jobTypes } from '../job-types/index.ts';
import { jobErrorSchema } from '../job-error.ts';

/** An object as it is stored; `size` in bytes. */
export const manifestObjectSchema = z.object({
  key: z.string(),
  size: z.int().nonnegative(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

/**
 * The result manifest (`work/<job_id>/<attempt>/result.json`): what an attempt came to, and every object that it wrote.
 * It is the last thing a runner writes, and the result of record: a pod, a Job or a controller may vanish before anyone
 * looked.
 */
const manifestShape = z.object({
  v: z.literal(1),
  job_id: z.uuid(),
  attempt: z.int().positive(),
  type: z.enum(jobTypeNames),
  hash: z.string(),
  rev: z.string().regex(/^[0-9a-f]{16}$/),
  status: z.enum(['completed', 'failed']),
  results: z.unknown(),
  error: jobErrorSchema.nullable(),
  /** `size` in bytes, `sha256` in hex. */
  objects: z.array(manifestObjectSchema),
});
export type ResultManifest = z.infer<typeof manifestShape>;

/** Reads a result manifest; a completed one has results of its type's shape. @throws ZodError, SyntaxError */
export function parseManifest(json: string): ResultManifest {
  const manifest = manifestShape.parse(JSON.parse(json));
  const results: unknown = manifest.results === null ? null : jobTypes[manifest.type].results.parse(manifest.results);
  if (manifest.status === 'completed' && results === null) throw new TypeError('a completed manifest needs results');
  if (manifest.status === 'failed' && manifest.error === null) throw new TypeError('a failed manifest needs an error');
  return { ...manifest, results };
}
