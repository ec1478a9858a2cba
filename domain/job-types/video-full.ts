import { z } from 'zod';
import type { JobError } from '../job-error.ts';
import { KnownProblem } from '../errors.ts';
import { artifactsSchema, type ImageStages } from './image-stages.ts';
import { jobType } from './job-type.ts';
import { jobTypeOfStage, planRetry, retryPlanSchema } from './retry-plan.ts';
import { warningsSchema } from './shared-results.ts';
import { videoCoverOptions } from './video-cover.ts';
import { videoPreviewOptions } from './video-preview.ts';
import { videoTranscodeOptions, videoTranscodeResults } from './video-transcode.ts';

/** `video:full`: the nested schema alone; the legacy flat options are unknown fields here (C11.19). */
const videoFullOptions = z.strictObject({
  cover: videoCoverOptions.prefault({}).describe('The options of the cover.'),
  preview: videoPreviewOptions.prefault({}).describe('The options of the preview.'),
  transcode: videoTranscodeOptions.prefault({}).describe('The options of the stream.'),
});

/** The stages that make something; a fourth, `source`, says whether the source could be read at all. */
export const fullStages = ['cover', 'preview', 'transcode'] as const;
export type FullStage = (typeof fullStages)[number];

export const stageResultSchema = z.object({
  status: z.enum(['ready', 'failed']).describe('Whether what the stage makes is there.'),
  error: z.string().max(64).optional().describe('The code of its error; absent for a stage that is ready.'),
  retryable: z.boolean().optional().describe('Whether another attempt may succeed; absent for a stage that is ready.'),
});
export type StageResult = z.infer<typeof stageResultSchema>;

/**
 * C15.9 to C15.12. A failed stage has no artifact. The fields of transcode results are added once that stage is ready,
 * so a caller finds `streaming` and `encryption` in the same place as with `video:transcode`.
 */
export const videoFullResults = videoTranscodeResults.partial().extend({
  streaming: videoTranscodeResults.shape.streaming
    .optional()
    .describe(
      'Where the stream is; there in every completed job, absent in a failed one whose stage `transcode` failed.',
    ),
  stages: z
    .object({
      source: stageResultSchema.describe('Whether the source could be read.'),
      cover: stageResultSchema.describe('How the cover ended.'),
      preview: stageResultSchema.describe('How the preview ended.'),
      transcode: stageResultSchema.describe('How the stream ended.'),
    })
    .describe('How each stage ended.'),
  artifacts: artifactsSchema.describe('The images.'),
  retry_plan: retryPlanSchema.describe('What a retry of the job would do.'),
  warnings: warningsSchema,
});
export type VideoFullResults = z.infer<typeof videoFullResults>;

/** The error of each stage of a `video:full` job; null for one that is ready. */
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

/** The error of the whole job: the error of the first failed stage, with its name. */
export function firstStageError(errors: StageErrors): JobError | null {
  for (const stage of fullStages) {
    const error = errors[stage];
    if (error !== null) return { ...error, stage };
  }
  return null;
}

/**
 * The results of a `video:full` job that ended before any stage began: every stage failed by the same error. Also for a
 * lost attempt; a retryable error allows the retry of every stage.
 */
export function fullResultsOfSourceFailure(error: JobError): VideoFullResults {
  const failed = stageResult(error);
  const stages = { source: failed, cover: failed, preview: failed, transcode: failed };
  return { stages, artifacts: {}, retry_plan: planRetry(stages), warnings: [] };
}

/**
 * The results of a job whose stream failed, with the images that were made before; null: of a failure of the source.
 */
function fullResultsWithoutManifest(error: JobError, images: ImageStages | null): VideoFullResults {
  if (images === null) return fullResultsOfSourceFailure(error);
  const { artifacts, errors, warnings } = images;
  return { ...fullOutcome({ ...errors, transcode: error }), artifacts, warnings };
}

/** Makes cover, preview and stream of a video in one job. A retry makes again only the failed stages worth it. */
export const videoFull = jobType({
  options: videoFullOptions,
  results: videoFullResults,
  preflight: 'video',
  makesStream: true,
  firstUnit: 'split',
  needsContentKey: ({ transcode }) => transcode.encrypt,
  resultsWithoutManifest: fullResultsWithoutManifest,
  retries: (options, results) => {
    if (results === null) return null;
    const { retry_plan: plan } = results;
    if (!plan.allowed) throw new KnownProblem('not_retryable', plan.reason);
    return plan.stages.map((stage) => ({ type: jobTypeOfStage[stage], options: options[stage] }));
  },
});
