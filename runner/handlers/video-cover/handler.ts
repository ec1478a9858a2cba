import { videoKey } from '#domain/media/object-keys.ts';
import { coverPath } from '#domain/media/revision-layout.ts';
import { examineVideo } from '../../source/examine-video.ts';
import { unitHandler } from '../job-handler.ts';
import { coverFile, type CoverMade, coverMadeSchema, makeCover } from './make-cover.ts';

/** `video:cover`: one frame as a JPEG. */
export const handler = {
  whole: unitHandler<'video:cover', CoverMade>({
    made: coverMadeSchema,
    async process(context) {
      const source = await examineVideo(context);
      context.reporter.phase('encoding');
      const made = await makeCover(source, context.task.options, context);
      for (const warning of made.warnings) context.reporter.warn(warning);
      return made;
    },
    async publish({ task, workspace }, { width, height, size, timestampSec, placeholder, warnings }) {
      const key = videoKey(task.hash, task.rev, coverPath);
      return {
        results: { key, format: 'jpg', size, width, height, timestamp_sec: timestampSec, ...placeholder, warnings },
        error: null,
        files: [{ key, path: workspace.at(coverFile) }],
      };
    },
  }),
};
