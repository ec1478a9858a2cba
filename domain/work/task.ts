import { z } from 'zod';
import { type JobOptions, type JobType, jobTypeNames, jobTypeRow, jobTypes } from '../job-types/index.ts';
import type { Job, TraceContext } from '../jobs/job.ts';
import { mediaPrefix, revisionOf } from '../media/object-keys.ts';
import { namedProfileSchema } from '../media/profiles.ts';
import { parseJson } from '../parse-json.ts';
import { chunksMax, type Split } from './split.ts';
import { type Unit, unitKindRow, unitSchema } from './unit.ts';

/** The unit in the task of an Indexed Job: each of its pods encodes the chunk at the pod's index. */
const chunkUnitsSchema = z.strictObject({
  kind: z.literal('chunk'),
  chunks: z.array(z.int().nonnegative()).min(1).max(chunksMax),
});
export type ChunkUnits = z.infer<typeof chunkUnitsSchema>;

/** The task document (`RUNNER_TASK`, JSON): all that a runner learns of a job. It has no secret. */
export const taskShape = z.strictObject({
  v: z.literal(2),
  job_id: z.uuid(),
  attempt: z.int().positive(),
  type: z.enum(jobTypeNames),
  hash: z.string().max(128),
  source: z.strictObject({
    key: z.string().max(1024),
    /** As measured at preflight; null where there was none. `fetch` refuses a source that is no longer this one. */
    etag: z.string().max(1024).nullable(),
    size: z.int().nonnegative().nullable(),
    /** `fetch` refuses a larger source. */
    bytes_max: z.int().positive(),
  }),
  options: z.unknown(),
  /** How a stream is encoded; null: by the built-in profile `default`. */
  profile: namedProfileSchema.nullable(),
  /** `<prefix>` of the object keys. */
  prefix: z.string().regex(/^[0-9a-f]{2}$/),
  rev: z.string().regex(/^[0-9a-f]{16}$/),
  unit: z.union([unitSchema, chunkUnitsSchema]),
  /** The job that is made again; a job that makes none again has no such field. */
  rerun_of: z.uuid().optional(),
  trace: z.strictObject({ traceparent: z.string().max(64), tracestate: z.string().max(1024).optional() }).nullable(),
});

export type Task<T extends JobType = JobType> = Omit<z.infer<typeof taskShape>, 'options' | 'type' | 'unit'> & {
  unit: Unit;
} & {
    [K in T]: { type: K; options: JobOptions<K> };
  }[T];

/** A task document as it is written: the pods of an Indexed Job share one, and each takes one of its chunks. */
export type WrittenTask = Omit<Task, 'unit'> & { readonly unit: Unit | ChunkUnits };

interface TaskInput {
  readonly job: Job;
  readonly unit: Unit | ChunkUnits;
  /** The pieces that the source was split into; null before. */
  readonly split: Pick<Split, 'rev'> | null;
  /** `MAX_FILE_SIZE`, in bytes. */
  readonly maxFileSizeBytes: number;
  /** The span that the runner continues; by default the span of the submission. */
  readonly trace?: TraceContext | null;
}

/** The task document for a unit of the attempt that `job` is at. */
export function taskOf({ job, unit, split, maxFileSizeBytes, trace = job.trace }: TaskInput): WrittenTask {
  const bytesMax = Math.min(maxFileSizeBytes, jobTypeRow(job.type).sourceBytesMax ?? Infinity);
  const isShared = split !== null && unitKindRow(unit.kind).isShared;
  return {
    v: 2,
    job_id: job.id,
    attempt: job.attempt,
    type: job.type,
    hash: job.hash,
    source: { key: job.source, etag: job.sourceEtag, size: job.sourceSizeBytes, bytes_max: bytesMax },
    options: job.options,
    profile: job.profile,
    prefix: mediaPrefix(job.hash),
    rev: isShared ? split.rev : revisionOf(job.id, job.attempt),
    unit,
    ...(job.rerunOfJobId === null ? {} : { rerun_of: job.rerunOfJobId }),
    trace,
  };
}

/**
 * Reads a task document.
 *
 * @param index of the pod in its Job (`JOB_COMPLETION_INDEX`); undefined for any other process
 * @throws ZodError, SyntaxError, Error when the task needs an index
 */
export function parseTask(json: string, index?: string): Task {
  return readTask(parseJson(json), index);
}

/** Reads a task document that is parsed already. @throws ZodError, Error when the task needs an index */
export function readTask(document: unknown, index?: string): Task {
  const task = taskShape.parse(document);
  const unit = 'chunks' in task.unit ? unitAt(task.unit, index) : task.unit;
  return { ...task, unit, options: jobTypes[task.type].options.parse(task.options) } as Task;
}

function unitAt({ kind, chunks }: ChunkUnits, index: string | undefined): Unit {
  const chunk = chunks[Number(index)];
  if (chunk === undefined) throw new Error(`expected an index of ${chunks.length} chunks, found ${index ?? 'none'}`);
  return { kind, chunk };
}
