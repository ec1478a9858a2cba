import { z } from 'zod';
import { examineSound } from '../../source/examine-sound.ts';
import { examineVideo } from '../../source/examine-video.ts';
import type { StepContext } from '../../context/step-context.ts';
import { jobHandler } from '../job-handler.ts';
import { encodeSound } from './encode-sound.ts';
import { encodeStream, planStream } from './encode.ts';
import { type Encoded, encodedSchema } from './encoded.ts';
import { chunkMadeSchema, encodeChunk } from './film/encode-chunk.ts';
import { finishFilm } from './film/finish.ts';
import { type FilmPlan, filmPlanSchema } from './film/plan.ts';
import { publishChunk, publishSplit } from './film/publish-parts.ts';
import { splitFilm } from './film/split.ts';
import { packageStream } from './package.ts';

/** What `process` made: a whole stream, or a part of a film; nothing for the last part, which has no step `process`. */
const madeSchema = z.union([
  z.object({ film: filmPlanSchema }),
  z.object({ chunk: chunkMadeSchema }),
  z.object({ stream: encodedSchema }),
  z.null(),
]);

/** `video:transcode`: a ladder of renditions and every audio track, packaged as CMAF. */
export const handler = jobHandler<'video:transcode', z.infer<typeof madeSchema>>({
  made: madeSchema,
  async process(context) {
    const { task, reporter } = context;
    if (task.part?.kind === 'encode') {
      reporter.phase('encoding');
      return { chunk: await encodeChunk(task.part.chunk, context) };
    }
    const made = await processSource(context);
    if ('stream' in made) for (const warning of made.stream.warnings) reporter.warn(warning);
    return made;
  },
  async publish(context, made) {
    const { options } = context.task;
    if (made !== null && 'film' in made) return publishSplit(made.film, options, context);
    if (made !== null && 'chunk' in made) return publishChunk(made.chunk, options, context);
    context.reporter.phase('packaging');
    if (made === null) return finishFilm(options, context);
    const { results, files } = await packageStream(made.stream, options, context);
    return { results, error: null, files };
  },
});

/** Encodes a source whole, which one without a picture always is, or splits it. */
async function processSource(context: StepContext): Promise<{ film: FilmPlan } | { stream: Encoded }> {
  const sound = await examineSound(context);
  if (sound !== null) return { stream: await encodeSound(sound, context) };
  const stream = await planStream(await examineVideo(context), context);
  const film = await splitFilm(stream, context);
  if (film !== null) return { film };
  context.reporter.phase('encoding');
  return { stream: await encodeStream(stream, context, (fraction) => context.reporter.progress(fraction)) };
}
