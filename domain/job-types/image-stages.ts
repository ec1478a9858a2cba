import { z } from 'zod';
import { jobErrorSchema } from '../job-error.ts';
import { objectKeySchema, placeholderSchema, previewFormats, sizeField, warningsSchema } from './shared-results.ts';

const coverArtifactSchema = z.object({
  key: objectKeySchema,
  format: z.literal('jpg').describe('The format of the file.'),
  size: sizeField,
  ...placeholderSchema.partial().shape,
});
const previewArtifactSchema = z.object({
  key: objectKeySchema,
  format: z.enum(previewFormats).describe('The format of the file.'),
  size: sizeField,
});

/** The images of a `video:full`; a failed stage has none. */
export const artifactsSchema = z.object({
  cover: coverArtifactSchema.optional().describe('The cover; absent where its stage failed.'),
  preview: previewArtifactSchema.optional().describe('The preview; absent where its stage failed.'),
});

/** How the stages of a `video:full` ended that make one image each. */
export const imageStagesSchema = z.object({
  artifacts: artifactsSchema,
  errors: z.object({ cover: jobErrorSchema.nullable(), preview: jobErrorSchema.nullable() }),
  warnings: warningsSchema,
});
export type ImageStages = z.infer<typeof imageStagesSchema>;
