import { z } from 'zod';
import { examineAudioOnly } from '../../source/examine-audio-only.ts';
import { examineVideo } from '../../source/examine-video.ts';
import type { StepContext } from '../../context/step-context.ts';
import { publishHandler, unitHandler } from '../job-handler.ts';
import { chunkHandler } from './chunked/chunk-handler.ts';
import { finishChunked } from './chunked/finish.ts';
import { type EncodePlan, encodePlanSchema } from './chunked/plan.ts';
import { publishSplit } from './chunked/publish-units.ts';
import { splitSource } from './chunked/split.ts';
import { encodeAudioOnly } from './encode-audio-only.ts';
import { encodeStream, planStream } from './encode.ts';
import { type Encoded, encodedSchema } from './encoded.ts';
import { packageStream } from './package.ts';

/** The product of `process` of the first unit: a whole stream, or the plan of a chunked encode. */
const firstMadeSchema = z.union([z.object({ plan: encodePlanSchema }), z.object({ stream: encodedSchema })]);
type FirstMade = z.infer<typeof firstMadeSchema>;

/** `video:transcode`: a ladder of renditions and every audio track, packaged as CMAF. */
export const handler = {
  split: unitHandler<'video:transcode', FirstMade>({
    made: firstMadeSchema,
    async process(context) {
      const made = await encodeOrSplit(context);
      if ('stream' in made) for (const warning of made.stream.warnings) context.reporter.warn(warning);
      return made;
    },
    async publish(context, made) {
      const { options } = context.task;
      if ('plan' in made) return publishSplit(made.plan, options, context);
      context.reporter.phase('packaging');
      return { ...(await packageStream(made.stream, options, context)), error: null };
    },
  }),
  chunk: chunkHandler<'video:transcode'>((options) => options),
  finish: publishHandler<'video:transcode'>((context) => finishChunked(context.task.options, context)),
};

/** Encodes a source whole, which one without video always is, or splits it. */
async function encodeOrSplit(context: StepContext): Promise<{ plan: EncodePlan } | { stream: Encoded }> {
  const audioOnly = await examineAudioOnly(context);
  if (audioOnly !== null) return { stream: await encodeAudioOnly(audioOnly, context) };
  const stream = await planStream(await examineVideo(context), context);
  const plan = await splitSource(stream, context);
  if (plan !== null) return { plan };
  context.reporter.phase('encoding');
  return { stream: await encodeStream(stream, context, (fraction) => context.reporter.progress(fraction)) };
}
