import { splitImagesKey } from '#domain/media/object-keys.ts';
import { type SplitImages, parseSplitImages } from '#domain/work/split.ts';
import type { WorkProduct, Product, PublishContext } from '../job-handler.ts';
import { finishChunked } from '../video-transcode/chunked/finish.ts';
import type { EncodePlan } from '../video-transcode/chunked/plan.ts';
import { publishSplit, readWork } from '../video-transcode/chunked/publish-units.ts';
import { imagesOf, outcomeOf } from './stages.ts';

/*
 * A `video:full` in chunks: `split` makes cover and preview too. They are published under the revision of the attempt,
 * since jobs that share the chunks may have different covers. `work/<job_id>/images.json` names them for the results,
 * which `finish` writes, or the end of the attempt where the encode fails.
 */

/** Publishes the output of `split`: the images, and what `split` of a `video:transcode` publishes. */
export async function publishFullSplit(
  { plan, ...made }: Parameters<typeof imagesOf>[0] & { readonly plan: EncodePlan },
  context: PublishContext<'video:full'>,
): Promise<WorkProduct> {
  const { task } = context;
  const { images, files } = imagesOf(made, context);
  const keys = new Set(files.map(({ key }) => key));
  const split = await publishSplit(plan, task.options.transcode, context);
  return {
    ...split,
    once: [...files, ...split.once],
    documents: (objects) => {
      const content: SplitImages = { v: 1, ...images, objects: objects.filter(({ key }) => keys.has(key)) };
      const documents = split.documents(objects.filter(({ key }) => !keys.has(key)));
      // Before the object that says that the source was split.
      return [{ key: splitImagesKey(task.job_id), content, isOnce: false }, ...documents];
    },
  };
}

/** The outcome of the job: the images of `split`, and the finished stream. */
export async function finishFull(context: PublishContext<'video:full'>): Promise<Product<'video:full'>> {
  const { task } = context;
  const { objects, ...images } = parseSplitImages(await readWork(splitImagesKey(task.job_id), context));
  const made = await finishChunked(task.options.transcode, context);
  return {
    ...outcomeOf(images, { made, error: null }),
    files: made.files,
    published: [...objects, ...(made.published ?? [])],
  };
}
