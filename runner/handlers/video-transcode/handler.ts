import { z } from 'zod';
import { examineVideo } from '../../source/examine-video.ts';
import { jobHandler } from '../job-handler.ts';
import { encodeStream, planStream } from './encode.ts';
import { encodedSchema } from './encoded.ts';
import { chunkMadeSchema, encodeChunk } from './film/encode-chunk.ts';
import { finishFilm } from './film/finish.ts';
import { filmPlanSchema } from './film/plan.ts';
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
    const source = await examineVideo(context);
    const stream = await planStream(source, context);
    const film = await splitFilm(stream, context);
    if (film !== null) return { film };
    reporter.phase('encoding');
    const encoded = await encodeStream(stream, context, (fraction) => reporter.progress(fraction));
    for (const warning of encoded.warnings) reporter.warn(warning);
    return { stream: encoded };
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
