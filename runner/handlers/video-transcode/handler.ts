import { examineVideo } from '../../source/examine-video.ts';
import { jobHandler } from '../job-handler.ts';
import { encodeStream } from './encode.ts';
import { type Encoded, encodedSchema } from './encoded.ts';
import { packageStream } from './package.ts';

/** `video:transcode`: a ladder of renditions and every audio track, packaged as CMAF. */
export const handler = jobHandler<'video:transcode', Encoded>({
  made: encodedSchema,
  async process(context) {
    const source = await examineVideo(context);
    context.reporter.phase('encoding');
    const encoded = await encodeStream(source, context, (fraction) => context.reporter.progress(fraction));
    for (const warning of encoded.warnings) context.reporter.warn(warning);
    return encoded;
  },
  async publish(context, encoded) {
    context.reporter.phase('packaging');
    const { results, files } = await packageStream(encoded, context.task.options, context);
    return { results, error: null, files };
  },
});
