import { type FullStage, fullStages, type StageResult, type VideoFullResults } from './video-full.ts';
import type { JobError } from '../job-error.ts';
import { planRetry } from './retry-plan.ts';

/** What became of the stages of a `video:full` job; null for one that is ready. */
export type StageErrors = Readonly<Record<FullStage, JobError | null>>;

/** `error` is the code. */
function stageResult(error: JobError | null): StageResult {
  return error === null ? { status: 'ready' } : { status: 'failed', error: error.code, retryable: error.retryable };
}

/** The stages and the retry plan of a job whose source could be read. */
export function fullOutcome(errors: StageErrors): Pick<VideoFullResults, 'stages' | 'retry_plan'> {
  const stages = {
    source: stageResult(null),
    cover: stageResult(errors.cover),
    preview: stageResult(errors.preview),
    transcode: stageResult(errors.transcode),
  };
  return { stages, retry_plan: planRetry(stages) };
}

/** The error of the whole job: that of the first stage that failed, which it names. */
export function firstStageError(errors: StageErrors): JobError | null {
  const stage = fullStages.find((each) => errors[each] !== null);
  const error = stage === undefined ? null : errors[stage];
  return stage === undefined || error === null ? null : { ...error, stage };
}

/**
 * The results of a `video:full` job that ended before any stage could begin (decisions.md: "When the source itself is at
 * fault, all stages fail"). Also for an attempt that was lost as a whole, where a retryable error allows every stage.
 */
export function fullResultsOfSourceFailure(error: JobError): VideoFullResults {
  const failed = stageResult(error);
  const stages = { source: failed, cover: failed, preview: failed, transcode: failed };
  return { stages, artifacts: {}, retry_plan: planRetry(stages), warnings: [] };
}
