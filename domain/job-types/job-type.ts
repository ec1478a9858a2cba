import type { z } from 'zod';
import type { JobError } from '../job-error.ts';
import type { ImageStages } from './image-stages.ts';

/** A new job that a retry makes. It has the hash, source and callback of the failed job. */
export interface RetryOf<Type extends string = string> {
  readonly type: Type;
  readonly options: unknown;
}

/**
 * The unit of work that an attempt begins with (`domain/work/unit.ts`). `image`: sharp decodes it under an allow-list,
 * so one process may run all steps. `split`: a long source is encoded in chunks.
 */
export type FirstUnit = 'whole' | 'image' | 'split';

/** A row of the table of job types: everything outside `runner/handlers` that depends on the type. */
export interface JobTypeRow<
  Options extends z.ZodObject = z.ZodObject,
  Results extends z.ZodType = z.ZodType,
  First extends FirstUnit = FirstUnit,
> {
  /** Strict: an unknown field anywhere is refused. Parsing fills in the defaults. */
  readonly options: Options;
  readonly results: Results;
  /** The largest source that is fetched, in bytes; null: `MAX_FILE_SIZE` alone bounds it. */
  readonly sourceBytesMax: number | null;
  /**
   * The look at the source before the job is accepted. `video`: it must exist, and is measured; `image`: one that is
   * there and is not named as an image must not be a video.
   */
  readonly preflight: 'video' | 'image' | 'none';
  /** Whether it encodes a stream, by a profile. */
  readonly makesStream: boolean;
  readonly firstUnit: First;
  /** `progress` of a completed job, in percent. */
  readonly completedProgress: number;
  /** Whether the attempt packages an encrypted stream, and so needs the content key of its media. */
  readonly needsContentKey: (options: z.output<Options>) => boolean;
  /**
   * The results of a job that failed without a result manifest; null for none.
   *
   * @param images that its `split` made; null where there are none
   */
  readonly resultsWithoutManifest: (error: JobError, images: ImageStages | null) => z.output<Results> | null;
  /**
   * The jobs that a retry of a failed job makes; null for one job like it.
   *
   * @param results of the failed job; null when it left none
   * @throws KnownProblem `not_retryable`, with the reason
   */
  readonly retries: (options: z.output<Options>, results: z.output<Results> | null) => readonly RetryOf[] | null;
}

const usual = {
  sourceBytesMax: null,
  preflight: 'none',
  makesStream: false,
  completedProgress: 100,
  needsContentKey: () => false,
  resultsWithoutManifest: () => null,
  retries: () => null,
} as const;

/** A row with its own columns; the others have the usual values: all that most types need. */
export function jobType<Options extends z.ZodObject, Results extends z.ZodType, First extends FirstUnit>(
  row: Pick<JobTypeRow<Options, Results, First>, 'options' | 'results' | 'firstUnit'> &
    Partial<JobTypeRow<Options, Results, First>>,
): JobTypeRow<Options, Results, First> {
  return { ...usual, ...row };
}
