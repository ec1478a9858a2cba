import { z } from 'zod';
import { examineVideo } from '../../source/examine-video.ts';
import { jobHandler, type Product, type PublishContext } from '../job-handler.ts';
import { encodeStream, planStream } from '../video-transcode/encode.ts';
import { encodedSchema } from '../video-transcode/encoded.ts';
import { chunkMadeSchema, encodeChunk } from '../video-transcode/film/encode-chunk.ts';
import { filmPlanSchema } from '../video-transcode/film/plan.ts';
import { publishChunk } from '../video-transcode/film/publish-parts.ts';
import { splitFilm } from '../video-transcode/film/split.ts';
import { packageStream } from '../video-transcode/package.ts';
import { finishFull, publishFullSplit } from './film.ts';
import {
  imageShare,
  imagesOf,
  imagesMadeSchema,
  makeImages,
  outcomeOf,
  runStage,
  type Stage,
  stageSchema,
  warningsOf,
} from './stages.ts';

const wholeSchema = imagesMadeSchema.extend({ transcode: stageSchema(encodedSchema) });

/** What `process` made: all stages, or a part of a film; nothing for the last part, which has no step `process`. */
const madeSchema = z.union([
  imagesMadeSchema.extend({ film: filmPlanSchema }),
  z.object({ chunk: chunkMadeSchema }),
  wholeSchema,
  z.null(),
]);

/** `video:full`: cover, preview and transcode of one source, which is downloaded and examined once. */
export const handler = jobHandler<'video:full', z.infer<typeof madeSchema>>({
  made: madeSchema,
  async process(context) {
    const { reporter, task } = context;
    if (task.part?.kind === 'encode') {
      reporter.phase('encoding');
      return { chunk: await encodeChunk(task.part.chunk, context) };
    }
    const source = await examineVideo(context);
    if (task.part === null) reporter.phase('encoding');
    const images = await makeImages(source, context);
    const transcode = await runStage(context, 'transcode', async () => {
      const stream = await planStream(source, context);
      const film = await splitFilm(stream, context);
      if (film !== null) return { film };
      reporter.phase('encoding');
      const onFraction = (fraction: number) => reporter.progress(imageShare + fraction * (1 - imageShare));
      return { encoded: await encodeStream(stream, context, onFraction) };
    });
    if (transcode.made !== null && 'film' in transcode.made) return { ...images, film: transcode.made.film };
    const encoded = transcode.made === null ? transcode : { made: transcode.made.encoded, error: null };
    for (const warning of warningsOf({ ...images, encoded })) reporter.warn(warning);
    return { ...images, transcode: encoded };
  },
  async publish(context, made) {
    if (made !== null && 'film' in made) return publishFullSplit(made, context);
    if (made !== null && 'chunk' in made) return publishChunk(made.chunk, context.task.options.transcode, context);
    context.reporter.phase('packaging');
    return made === null ? finishFull(context) : publishWhole(made, context);
  },
});

async function publishWhole(
  { transcode, ...made }: z.infer<typeof wholeSchema>,
  context: PublishContext<'video:full'>,
): Promise<Product<'video:full'>> {
  const stream = await packageStage(transcode, context);
  const { images, files } = imagesOf(made, context);
  // The stream comes last, with its master at its end.
  return { ...outcomeOf(images, stream), files: [...files, ...(stream.made?.files ?? [])] };
}

async function packageStage(
  { made: encoded, error }: z.infer<typeof wholeSchema>['transcode'],
  context: PublishContext<'video:full'>,
): Promise<Stage<Awaited<ReturnType<typeof packageStream>>>> {
  if (encoded === null) return { made: null, error };
  return runStage(context, 'transcode', () => packageStream(encoded, context.task.options.transcode, context));
}
