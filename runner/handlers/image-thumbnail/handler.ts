import { z } from 'zod';
import { imageFormats } from '#domain/job-types/image-thumbnail.ts';
import { placeholderSchema, warningsSchema } from '#domain/job-types/shared-results.ts';
import { imageKey } from '#domain/media/object-keys.ts';
import { workspaceFiles } from '../../context/step-context.ts';
import { unitHandler } from '../job-handler.ts';
import { makeThumbnails } from './make-thumbnails.ts';

const pixels = z.int().positive();
const madeSchema = z.object({
  placeholder: placeholderSchema,
  warnings: warningsSchema.default([]),
  images: z
    .array(
      z.object({
        variant: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,31}$/),
        format: z.enum(imageFormats),
        width: pixels,
        height: pixels,
        size: z.int().positive(),
      }),
    )
    .min(1),
});

/** `image:thumbnail`: variants of one image. */
export const handler = {
  image: unitHandler<'image:thumbnail', z.infer<typeof madeSchema>>({
    made: madeSchema,
    async process(context) {
      const { images, placeholder, warnings } = await makeThumbnails(context.task.options.outputs, context);
      return {
        placeholder,
        warnings,
        images: images.map(({ output: { variant, format }, width, height, size }) => ({
          variant,
          format,
          width,
          height,
          size,
        })),
      };
    },
    async publish({ task, workspace }, { images, placeholder, warnings }) {
      const outputs = images.map((image) => ({ ...image, key: imageKey(task.hash, task.rev, image) }));
      const [first] = outputs;
      if (first === undefined) throw new Error('a thumbnail job has at least one output');
      return {
        results: { key: first.key, outputs, ...placeholder, ...(warnings.length > 0 ? { warnings } : {}) },
        error: null,
        files: outputs.map(({ key, variant, format }) => ({
          key,
          path: workspace.at(`${workspaceFiles.made}/${variant}.${format}`),
        })),
      };
    },
  }),
};
