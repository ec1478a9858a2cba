import { z } from 'zod';
import { jobType } from './job-type.ts';
import {
  heightField,
  objectKeySchema,
  previewFormats,
  sizeField,
  warningsSchema,
  widthField,
} from './shared-results.ts';

const framesMax = 300;

/** `video:preview`. */
export const videoPreviewOptions = z
  .strictObject({
    start_sec: z.number().min(0).default(0).describe('Where the preview begins, in seconds.'),
    duration: z.number().min(0.5).max(15).default(3).describe('How long the preview is, in seconds.'),
    width: z.int().min(64).max(1280).default(480).describe('The width in pixels; an odd one loses a pixel.'),
    fps: z.int().min(1).max(30).default(10).describe('Frames a second.'),
    format: z.enum(previewFormats).default('webp').describe('The format of the file.'),
  })
  .refine(({ duration, fps }) => duration * fps <= framesMax, {
    path: ['duration'],
    message: `duration × fps must be at most ${framesMax}`,
  });

const videoPreviewResults = z.object({
  key: objectKeySchema,
  format: z.enum(previewFormats).describe('The format of the file.'),
  size: sizeField,
  width: widthField,
  height: heightField,
  frames: z.int().positive().describe('How many frames it has.'),
  warnings: warningsSchema.optional(),
});

/** Derives a short animated preview from a video. */
export const videoPreview = jobType({
  options: videoPreviewOptions,
  results: videoPreviewResults,
  preflight: 'video',
  firstUnit: 'whole',
});
