import { videoKey } from '#domain/media/object-keys.ts';
import { previewPath } from '#domain/media/revision-layout.ts';
import { examineVideo } from '../../source/examine-video.ts';
import { unitHandler } from '../job-handler.ts';
import { makePreview, previewFile, type PreviewMade, previewMadeSchema } from './make-preview.ts';

/** `video:preview`: a short animation. */
export const handler = {
  whole: unitHandler<'video:preview', PreviewMade>({
    made: previewMadeSchema,
    async process(context) {
      const source = await examineVideo(context);
      context.reporter.phase('encoding');
      const made = await makePreview(source, context.task.options, context);
      for (const warning of made.warnings) context.reporter.warn(warning);
      return made;
    },
    async publish({ task, workspace }, made) {
      const key = videoKey(task.hash, task.rev, previewPath(made.format));
      return { results: { key, ...made }, error: null, files: [{ key, path: workspace.at(previewFile(made.format)) }] };
    },
  }),
};
