import { z } from 'zod';
import { jobType } from './job-type.ts';
import {
  heightField,
  objectKeySchema,
  placeholderSchema,
  sizeField,
  warningsSchema,
  widthField,
} from './shared-results.ts';

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

const videoCoverResults = z.object({
  key: objectKeySchema,
  format: z.literal('jpg').describe('The format of the file.'),
  size: sizeField,
  width: widthField,
  height: heightField,
  timestamp_sec: z.number().nonnegative().describe('The time of the frame that was taken, in seconds.'),
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
