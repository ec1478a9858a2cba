import { type JobOptions, type JobType, jobTypeRow } from '../job-types/index.ts';
import type { Job } from './job.ts';

/** A job that a retry makes. It has the hash, source and callback of the failed job. */
export interface Retry {
  readonly type: JobType;
  readonly options: JobOptions;
}

/**
 * The jobs that a retry of a failed job makes: what its type's row says (one for each failed stage that is worth it),
 * else one job like it.
 *
 * @throws KnownProblem `not_retryable`, with the reason
 */
export function retriesOf({ type, options, results }: Pick<Job, 'type' | 'options' | 'results'>): readonly Retry[] {
  return (jobTypeRow(type).retries(options, results) as readonly Retry[] | null) ?? [{ type, options }];
}
