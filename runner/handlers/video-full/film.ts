import { filmImagesKey } from '#domain/media/object-keys.ts';
import { type FilmImages, parseFilmImages } from '#domain/runner/film.ts';
import type { FilmPartProduct, Product, PublishContext } from '../job-handler.ts';
import { finishFilm } from '../video-transcode/film/finish.ts';
import type { FilmPlan } from '../video-transcode/film/plan.ts';
import { publishSplit, readWork } from '../video-transcode/film/publish-parts.ts';
import { imagesOf, outcomeOf } from './stages.ts';

/*
 * A `video:full` over a film: `split` makes cover and preview too. They are published under the revision of that attempt,
 * since another job may have the same film with another cover. `work/<job_id>/images.json` leads to them: `finish` puts
 * them into the results, and where the film fails, its end does.
 */

/** What `split` publishes: the images, and what `split` of the film does. */
export async function publishFullSplit(
  { film, ...made }: Parameters<typeof imagesOf>[0] & { readonly film: FilmPlan },
  context: PublishContext<'video:full'>,
): Promise<FilmPartProduct> {
  const { task } = context;
  const { images, files } = imagesOf(made, context);
  const keys = new Set(files.map(({ key }) => key));
  const split = await publishSplit(film, task.options.transcode, context);
  return {
    ...split,
    once: [...files, ...split.once],
    documents: (objects) => {
      const content: FilmImages = { v: 1, ...images, objects: objects.filter(({ key }) => keys.has(key)) };
      const ofFilm = split.documents(objects.filter(({ key }) => !keys.has(key)));
      // Before the object that says that the source was split.
      return [{ key: filmImagesKey(task.job_id), content, isOnce: false }, ...ofFilm];
    },
  };
}

/** The outcome of the job: the images of `split`, and the finished film. */
export async function finishFull(context: PublishContext<'video:full'>): Promise<Product<'video:full'>> {
  const { task } = context;
  const { objects, ...images } = parseFilmImages(await readWork(filmImagesKey(task.job_id), context));
  const made = await finishFilm(task.options.transcode, context);
  return {
    ...outcomeOf(images, { made, error: null }),
    files: made.files,
    published: [...objects, ...(made.published ?? [])],
  };
}
