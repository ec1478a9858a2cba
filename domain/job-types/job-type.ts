import type { z } from 'zod';
import type { JobError } from '../job-error.ts';
import type { ImageStages } from './image-stages.ts';

/** A new job that a retry makes; hash, source and callback are those of the failed job. */
export interface RetryOf<Type extends string = string> {
  readonly type: Type;
  readonly options: unknown;
}

/** A row of the table of job types: everything outside `runner/handlers` that depends on the type. */
export interface JobTypeRow<Options extends z.ZodObject = z.ZodObject, Results extends z.ZodType = z.ZodType> {
  /** Strict: an unknown field anywhere is refused. Parsing fills in the defaults. */
  readonly options: Options;
  readonly results: Results;
  /** The largest source that is fetched, in bytes; null: `MAX_FILE_SIZE` alone bounds it. */
  readonly sourceBytesMax: number | null;
  /** Whether the source must exist and is measured before the job is accepted. */
  readonly hasPreflight: boolean;
  /** Whether it encodes a stream, by a profile. */
  readonly makesStream: boolean;
  /** Whether decoding is sharp's under an allow-list, so that all steps may run in one process. */
  readonly runsInOneStep: boolean;
  /** Whether a long source is a film, whose chunks are encoded one by one (`domain/runner/film.ts`). */
  readonly hasChunks: boolean;
  /** `progress` of a completed job, in percent. */
  readonly completedProgress: number;
  /** Whether the attempt packages an encrypted stream, and so needs the content key of its media. */
  readonly needsContentKey: (options: z.output<Options>) => boolean;
  /**
   * The results of a job that failed without a result manifest; null for none.
   *
   * @param images that were made before its film failed; null where there is no film
   */
  readonly resultsWithoutManifest: (error: JobError, images: ImageStages | null) => z.output<Results> | null;
  /**
   * The jobs that retry the parts of a failed job that are worth it; null: one job like it.
   *
   * @param results of the failed job; null when it left none
   * @throws KnownProblem `not_retryable`, with the reason
   */
  readonly retries: (options: z.output<Options>, results: z.output<Results> | null) => readonly RetryOf[] | null;
}

const usual = {
  sourceBytesMax: null,
  hasPreflight: false,
  makesStream: false,
  runsInOneStep: false,
  hasChunks: false,
  completedProgress: 100,
  needsContentKey: () => false,
  resultsWithoutManifest: () => null,
  retries: () => null,
} as const;

/** A row with its own columns; the others have the usual values: all that most types need. */
export function jobType<Options extends z.ZodObject, Results extends z.ZodType>(
  row: Pick<JobTypeRow<Options, Results>, 'options' | 'results'> & Partial<JobTypeRow<Options, Results>>,
): JobTypeRow<Options, Results> {
  return { ...usual, ...row };
}
