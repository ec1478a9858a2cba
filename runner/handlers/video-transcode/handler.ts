import { KnownProblem } from '#domain/errors.ts';
import { examineSource } from '../../source/examine.ts';
import { jobHandler } from '../job-handler.ts';
import { encodedSchema, encodeStream } from './encode.ts';
import { packageStream } from './package.ts';

/** `video:transcode`: a ladder of renditions and every audio track, packaged as CMAF. */
export const videoTranscode = jobHandler<'video:transcode', ReturnType<typeof encodedSchema.parse>>({
  made: encodedSchema,
  async process(context) {
    const source = await examineSource(context);
    context.reporter.phase('encoding');
    const encoded = await encodeStream(source, context, (fraction) => context.reporter.progress(fraction));
    for (const warning of encoded.warnings) context.reporter.warn(warning);
    return encoded;
  },
  async publish(context, encoded) {
    if (context.task.options.encrypt !== (context.encryption !== null)) {
      throw new KnownProblem('internal', 'An encrypted stream needs a content key, and no other stream has one.');
    }
    context.reporter.phase('packaging');
    const { results, files } = await packageStream(encoded, context);
    return { results, error: null, files };
  },
});
