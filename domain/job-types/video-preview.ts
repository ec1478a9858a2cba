import { z } from 'zod';
import { jobType } from './job-type.ts';
import { objectKeySchema, previewFormats, warningsSchema } from './shared-results.ts';

const framesMax = 300;

/** `video:preview`; times in seconds, `width` in pixels (made even when it is written). */
export const videoPreviewOptions = z
  .strictObject({
    start_sec: z.number().min(0).default(0),
    duration: z.number().min(0.5).max(15).default(3),
    width: z.int().min(64).max(1280).default(480),
    fps: z.int().min(1).max(30).default(10),
    format: z.enum(previewFormats).default('webp'),
  })
  .refine(({ duration, fps }) => duration * fps <= framesMax, {
    path: ['duration'],
    message: `duration × fps must be at most ${framesMax}`,
  });

const videoPreviewResults = z.object({
  key: objectKeySchema,
  format: z.enum(previewFormats),
  size: z.int().positive(),
  width: z.int().positive(),
  height: z.int().positive(),
  frames: z.int().positive(),
  warnings: warningsSchema.optional(),
});

/** Derives a short animated preview from a video. */
export const videoPreview = jobType({
  options: videoPreviewOptions,
  results: videoPreviewResults,
  preflight: 'video',
  firstUnit: 'whole',
});
