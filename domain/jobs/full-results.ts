import type { VideoFullResults } from '../job-types/video-full.ts';
import type { JobError } from './job-error.ts';
import { planRetry } from './retry-plan.ts';

/** The results of a `video:full` job that came to nothing because of its source: every stage failed by `error`. */
export function fullResultsOfSourceFailure(error: JobError): VideoFullResults {
  const failed = { status: 'failed', error: error.message, retryable: error.retryable } as const;
  const stages = { source: failed, cover: failed, preview: failed, transcode: failed };
  return { stages, artifacts: {}, retry_plan: planRetry(stages), warnings: [] };
}
