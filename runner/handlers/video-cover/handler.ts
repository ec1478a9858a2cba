import { videoKey } from '#domain/media/object-keys.ts';
import { examineSource } from '../../source/examine.ts';
import { jobHandler } from '../job-handler.ts';
import { type CoverMade, coverMadeSchema, coverPlace, makeCover } from './make-cover.ts';

/** `video:cover`: one frame as a JPEG. */
export const videoCover = jobHandler<'video:cover', CoverMade>({
  made: coverMadeSchema,
  async process(context) {
    const source = await examineSource(context);
    context.reporter.phase('encoding');
    const made = await makeCover(source, context.task.options, context);
    for (const warning of made.warnings) context.reporter.warn(warning);
    return made;
  },
  async publish({ task, workspace }, { width, height, size, timestampSec, warnings }) {
    const key = videoKey(task.hash, task.rev, 'cover.jpg');
    return {
      results: { key, format: 'jpg', size, width, height, timestamp_sec: timestampSec, warnings },
      error: null,
      files: [{ key, path: workspace.at(coverPlace) }],
    };
  },
});
