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

export const imageFormats = ['webp', 'jpg', 'png', 'avif'] as const;
export type ImageFormat = (typeof imageFormats)[number];

const outputsMax = 20;
const outputSchema = z.strictObject({
  variant: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,31}$/, 'must be 1–32 of a–z, 0–9, "_" and "-", and begin with a letter or digit')
    .describe('The name of the image, unique in the job.'),
  width: z.int().min(1).max(8192).describe('The width in pixels; an image is never enlarged.'),
  format: z.enum(imageFormats).describe('The format of the file.'),
});
export type ThumbnailOutput = z.infer<typeof outputSchema>;

/** `image:thumbnail` (C11.10 to C11.13). */
export const imageThumbnailOptions = z.strictObject({
  outputs: z
    .array(outputSchema)
    .min(1)
    .max(outputsMax)
    .superRefine((outputs, context) => {
      const seen = new Set<string>();
      for (const [index, { variant }] of outputs.entries()) {
        if (seen.has(variant))
          context.addIssue({ code: 'custom', path: [index, 'variant'], message: 'must be unique in the job' });
        seen.add(variant);
      }
    })
    .default([{ variant: 'thumb', width: 300, format: 'webp' }])
    .describe('The images to make, each with a variant, a width and a format.'),
});

const imageThumbnailResults = z.object({
  key: objectKeySchema.describe('The key of the first output.'),
  outputs: z
    .array(
      z.object({
        variant: z.string().max(32).describe('The name of the image.'),
        key: objectKeySchema,
        width: widthField,
        height: heightField,
        format: z.enum(imageFormats).describe('The format of the file.'),
        size: sizeField,
      }),
    )
    .min(1)
    .max(outputsMax)
    .describe('The images that were made.'),
  ...placeholderSchema.partial().shape,
  warnings: warningsSchema.optional(),
});

/** Derives image variants from an image. An image is decoded in memory, so its file is bounded. */
export const imageThumbnail = jobType({
  options: imageThumbnailOptions,
  results: imageThumbnailResults,
  sourceBytesMax: 512 * 1024 * 1024,
  preflight: 'image',
  firstUnit: 'image',
});
