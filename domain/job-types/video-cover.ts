import { z } from 'zod';
import { jobType } from './job-type.ts';
import { objectKeySchema, placeholderSchema, warningsSchema } from './shared-results.ts';

/** `video:cover` (C11.14). */
export const videoCoverOptions = z.strictObject({
  timestamp_sec: z
    .number()
    .min(0)
    .max(86_400)
    .optional()
    .describe('The time of the frame, in seconds from the beginning; without it a representative one near 10 %.')
    .meta({ examples: [12.4] }),
});

/** `timestamp_sec` is the time of the frame that was taken, in seconds. */
const videoCoverResults = z.object({
  key: objectKeySchema,
  format: z.literal('jpg'),
  size: z.int().positive(),
  width: z.int().positive(),
  height: z.int().positive(),
  timestamp_sec: z.number().nonnegative(),
  ...placeholderSchema.partial().shape,
  warnings: warningsSchema.optional(),
});

/** Derives a cover image from a video. */
export const videoCover = jobType({
  options: videoCoverOptions,
  results: videoCoverResults,
  preflight: 'video',
  firstUnit: 'whole',
});
