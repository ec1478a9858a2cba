import { z } from 'zod';
import { examineVideo } from '../../source/examine-video.ts';
import { type Product, publishHandler, type PublishContext, unitHandler } from '../job-handler.ts';
import { chunkHandler } from '../video-transcode/chunked/chunk-handler.ts';
import { encodePlanSchema } from '../video-transcode/chunked/plan.ts';
import { splitSource } from '../video-transcode/chunked/split.ts';
import { encodeStream, planStream } from '../video-transcode/encode.ts';
import { encodedSchema } from '../video-transcode/encoded.ts';
import { packageStream } from '../video-transcode/package.ts';
import { finishFull, publishFullSplit } from './chunked.ts';
import {
  imageShare,
  imagesMadeSchema,
  imagesOf,
  makeImages,
  outcomeOf,
  runStage,
  type Stage,
  stageSchema,
  warningsOf,
} from './stages.ts';

const wholeSchema = imagesMadeSchema.extend({ transcode: stageSchema(encodedSchema) });
/** The product of `process` of the first unit: cover, preview, and the stream or the plan of its chunked encode. */
const firstMadeSchema = z.union([imagesMadeSchema.extend({ plan: encodePlanSchema }), wholeSchema]);

/** `video:full`: cover, preview and transcode of one source, which is downloaded and examined once. */
export const handler = {
  split: unitHandler<'video:full', z.infer<typeof firstMadeSchema>>({
    made: firstMadeSchema,
    async process(context) {
      const { reporter } = context;
      const source = await examineVideo(context);
      const images = await makeImages(source, context);
      const transcode = await runStage(context, 'transcode', async () => {
        const stream = await planStream(source, context);
        const plan = await splitSource(stream, context);
        if (plan !== null) return { plan };
        reporter.phase('encoding');
        const onFraction = (fraction: number) => reporter.progress(imageShare + fraction * (1 - imageShare));
        return { encoded: await encodeStream(stream, context, onFraction) };
      });
      if (transcode.made !== null && 'plan' in transcode.made) return { ...images, plan: transcode.made.plan };
      const encoded = transcode.made === null ? transcode : { made: transcode.made.encoded, error: null };
      for (const warning of warningsOf({ ...images, encoded })) reporter.warn(warning);
      return { ...images, transcode: encoded };
    },
    publish: (context, made) => ('plan' in made ? publishFullSplit(made, context) : publishWhole(made, context)),
  }),
  chunk: chunkHandler<'video:full'>(({ transcode }) => transcode),
  finish: publishHandler<'video:full'>(finishFull),
};

async function publishWhole(
  { transcode, ...made }: z.infer<typeof wholeSchema>,
  context: PublishContext<'video:full'>,
): Promise<Product<'video:full'>> {
  context.reporter.phase('packaging');
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
