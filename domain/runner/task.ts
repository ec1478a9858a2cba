import { z } from 'zod';
import { type JobOptions, type JobType, jobTypeNames, jobTypes } from '../job-types/index.ts';

/** The task document (`RUNNER_TASK`, JSON): all that a runner gets of a job; it holds no secret. */
const taskShape = z.strictObject({
  v: z.literal(1),
  job_id: z.uuid(),
  attempt: z.int().positive(),
  type: z.enum(jobTypeNames),
  hash: z.string(),
  source: z.strictObject({
    key: z.string(),
    /** As measured at preflight; null where there was none. `fetch` refuses a source that is no longer this one. */
    etag: z.string().nullable(),
    size: z.int().nonnegative().nullable(),
    /** `fetch` refuses a larger source. */
    bytes_max: z.int().positive(),
  }),
  options: z.unknown(),
  /** The encoding profile's name. */
  profile: z.literal('default'),
  /** `<prefix>` of the object keys. */
  prefix: z.string().regex(/^[0-9a-f]{2}$/),
  rev: z.string().regex(/^[0-9a-f]{16}$/),
  trace: z.strictObject({ traceparent: z.string(), tracestate: z.string().optional() }).nullable(),
});

export type Task<T extends JobType = JobType> = Omit<z.infer<typeof taskShape>, 'options' | 'type'> &
  {
    [K in T]: { type: K; options: JobOptions<K> };
  }[T];

/** Reads a task document. @throws ZodError, SyntaxError */
export function parseTask(json: string): Task {
  const task = taskShape.parse(JSON.parse(json));
  return { ...task, options: jobTypes[task.type].options.parse(task.options) } as Task;
}
