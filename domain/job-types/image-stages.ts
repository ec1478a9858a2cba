import { z } from 'zod';
import { jobErrorSchema } from '../job-error.ts';
import { objectKeySchema, placeholderSchema, previewFormats, warningsSchema } from './shared-results.ts';

const coverArtifactSchema = z.object({
  key: objectKeySchema,
  format: z.literal('jpg'),
  size: z.int().positive(),
  ...placeholderSchema.partial().shape,
});
const previewArtifactSchema = z.object({
  key: objectKeySchema,
  format: z.enum(previewFormats),
  size: z.int().positive(),
});

/** The images of a `video:full`; a failed stage has none. */
export const artifactsSchema = z.object({
  cover: coverArtifactSchema.optional(),
  preview: previewArtifactSchema.optional(),
});

/** How the stages of a `video:full` ended that make one image each. */
export const imageStagesSchema = z.object({
  artifacts: artifactsSchema,
  errors: z.object({ cover: jobErrorSchema.nullable(), preview: jobErrorSchema.nullable() }),
  warnings: warningsSchema,
});
export type ImageStages = z.infer<typeof imageStagesSchema>;
