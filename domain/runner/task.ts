import { z } from 'zod';
import { namedProfileSchema } from '../media/profiles.ts';
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
  /** How a stream is encoded; null: by the built-in profile `default`. */
  profile: namedProfileSchema.nullable(),
  /** `<prefix>` of the object keys. */
  prefix: z.string().regex(/^[0-9a-f]{2}$/),
  rev: z.string().regex(/^[0-9a-f]{16}$/),
  /** The part of a film's work that this run does; null: the whole job in one piece. */
  part: z
    .discriminatedUnion('kind', [
      /** Examines the source and cuts a long film; does the whole job where it stays one piece. */
      z.strictObject({ kind: z.literal('split'), chunk_sec: z.number().positive() }),
      /** Encodes one chunk, counted from 0. `rev` of the task is the film's. */
      z.strictObject({ kind: z.literal('encode'), chunk: z.int().nonnegative() }),
      /** Encodes one of these chunks: that of the index which the pod of an Indexed Job is given. */
      z.strictObject({ kind: z.literal('encode_indexed'), chunks: z.array(z.int().nonnegative()).min(1) }),
      /** Writes playlists and the result manifest once every chunk is encoded. `rev` is the film's. */
      z.strictObject({ kind: z.literal('finish') }),
    ])
    .nullable()
    .default(null),
  trace: z.strictObject({ traceparent: z.string(), tracestate: z.string().optional() }).nullable(),
});

export type Task<T extends JobType = JobType> = Omit<z.infer<typeof taskShape>, 'options' | 'type' | 'part'> & {
  part: FilmPart | null;
} & {
    [K in T]: { type: K; options: JobOptions<K> };
  }[T];

type WrittenPart = NonNullable<z.infer<typeof taskShape>['part']>;
/** The part of a task that the pods of one Indexed Job share. */
export type IndexedPart = Extract<WrittenPart, { kind: 'encode_indexed' }>;
/** A part of a film's work. */
export type FilmPart = Exclude<WrittenPart, IndexedPart>;

/**
 * Reads a task document.
 *
 * @param index of the pod in its Job (`JOB_COMPLETION_INDEX`); undefined for any other process
 * @throws ZodError, SyntaxError, Error when the task needs an index
 */
export function parseTask(json: string, index?: string): Task {
  return readTask(JSON.parse(json), index);
}

/** Reads a task document that is parsed already. @throws ZodError, Error when the task needs an index */
export function readTask(document: unknown, index?: string): Task {
  const task = taskShape.parse(document);
  const part = task.part?.kind === 'encode_indexed' ? partAt(task.part, index) : task.part;
  return { ...task, part, options: jobTypes[task.type].options.parse(task.options) } as Task;
}

function partAt({ chunks }: IndexedPart, index: string | undefined): FilmPart {
  const chunk = chunks[Number(index)];
  if (chunk === undefined) throw new Error(`expected an index of ${chunks.length} chunks, found ${index ?? 'none'}`);
  return { kind: 'encode', chunk };
}
