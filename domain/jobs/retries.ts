import { KnownProblem } from '../errors.ts';
import type { JobOptions, JobType } from '../job-types/index.ts';
import type { VideoFullResults } from '../job-types/video-full.ts';
import type { Job } from './job.ts';
import { jobTypeOfStage } from '../job-types/retry-plan.ts';

/** A job that a retry makes; hash, source and callback are those of the failed job. */
export interface Retry {
  readonly type: JobType;
  readonly options: JobOptions;
}

/**
 * What a retry of a failed job makes (decisions.md, "retry"): one job for each failed retryable stage of a
 * `video:full`, with that stage's options, so that nothing `ready` is made again; of any other type one job like it.
 *
 * @throws KnownProblem `not_retryable`, with the plan's reason
 */
export function retriesOf(job: Pick<Job, 'type' | 'options' | 'results'>): Retry[] {
  // A `video:full` that failed before any stage was judged has no plan: then the whole job is what failed.
  if (job.type !== 'video:full' || job.results === null) return [{ type: job.type, options: job.options }];
  const { retry_plan: plan } = job.results as VideoFullResults;
  if (!plan.allowed) throw new KnownProblem('not_retryable', plan.reason);
  const options = job.options as JobOptions<'video:full'>;
  return plan.stages.map((stage) => ({ type: jobTypeOfStage[stage], options: options[stage] }));
}
