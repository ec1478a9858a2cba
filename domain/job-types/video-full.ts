import { z } from 'zod';
import { retryPlanSchema } from './retry-plan.ts';
import { objectKeySchema, warningsSchema } from './shared-results.ts';
import { videoCoverOptions } from './video-cover.ts';
import { previewFormats, videoPreviewOptions } from './video-preview.ts';
import { videoTranscodeOptions, videoTranscodeResults } from './video-transcode.ts';

/** `video:full`: the nested schema alone; the legacy flat options are unknown fields here (section 2). */
export const videoFullOptions = z.strictObject({
  cover: videoCoverOptions.prefault({}),
  preview: videoPreviewOptions.prefault({}),
  transcode: videoTranscodeOptions.prefault({}),
});

/** The stages that make something; a fourth, `source`, tells whether the source could be read at all. */
export const fullStages = ['cover', 'preview', 'transcode'] as const;
export type FullStage = (typeof fullStages)[number];

export const stageResultSchema = z.object({
  status: z.enum(['ready', 'failed']),
  error: z.string().optional(),
  retryable: z.boolean().optional(),
});
export type StageResult = z.infer<typeof stageResultSchema>;

const coverArtifactSchema = z.object({ key: objectKeySchema, format: z.literal('jpg'), size: z.int().positive() });
const previewArtifactSchema = z.object({
  key: objectKeySchema,
  format: z.enum(previewFormats),
  size: z.int().positive(),
});

/**
 * Section 2, "Full-workflow results". A failed stage has no artifact; beside the specified fields stand those of the
 * transcode results, when that stage is ready, so that a caller finds `streaming` and `encryption` where the other
 * job type has them.
 */
export const videoFullResults = videoTranscodeResults.partial().extend({
  stages: z.object({
    source: stageResultSchema,
    cover: stageResultSchema,
    preview: stageResultSchema,
    transcode: stageResultSchema,
  }),
  artifacts: z.object({ cover: coverArtifactSchema.optional(), preview: previewArtifactSchema.optional() }),
  retry_plan: retryPlanSchema,
  warnings: warningsSchema,
});
export type VideoFullResults = z.infer<typeof videoFullResults>;
