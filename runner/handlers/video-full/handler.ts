import { z } from 'zod';
import type { JobResults } from '#domain/job-types/index.ts';
import type { Warning } from '#domain/job-types/shared-results.ts';
import { firstStageError, fullOutcome } from '#domain/job-types/video-full.ts';
import { type JobError, jobErrorSchema, toJobError } from '#domain/job-error.ts';
import { videoKey } from '#domain/media/object-keys.ts';
import { coverPath, previewPath } from '#domain/media/revision-layout.ts';
import type { StepContext } from '../../context/step-context.ts';
import { examineVideo } from '../../source/examine-video.ts';
import { jobHandler, type Product, type PublishContext, type PublishedFile } from '../job-handler.ts';
import { coverFile, coverMadeSchema, makeCover } from '../video-cover/make-cover.ts';
import { makePreview, previewFile, previewMadeSchema } from '../video-preview/make-preview.ts';
import { encodeStream } from '../video-transcode/encode.ts';
import { encodedSchema } from '../video-transcode/encoded.ts';
import { packageStream } from '../video-transcode/package.ts';

/** The output of a stage, or the error that ended it. */
type Stage<T> = { readonly made: T; readonly error: null } | { readonly made: null; readonly error: JobError };

function stageSchema<S extends z.ZodType>(made: S) {
  return z.union([z.object({ made, error: z.null() }), z.object({ made: z.null(), error: jobErrorSchema })]);
}

const madeSchema = z.object({
  cover: stageSchema(coverMadeSchema),
  preview: stageSchema(previewMadeSchema),
  transcode: stageSchema(encodedSchema),
});
type Made = z.infer<typeof madeSchema>;

/** The approximate share of the work of each stage. */
const shares = { cover: 0.02, preview: 0.05 } as const;

/** Runs one stage. A failure becomes the stage's error and stops no other stage; an abort of the step stops all. */
async function runStage<T>(context: StepContext, stage: string, work: () => Promise<T>): Promise<Stage<T>> {
  try {
    return { made: await work(), error: null };
  } catch (thrown) {
    context.signal.throwIfAborted();
    context.log.error({ err: thrown, stage }, 'stage failed');
    return { made: null, error: toJobError(thrown, context.task.attempt) };
  }
}

/** `video:full`: cover, preview and transcode of one source, which is downloaded and examined once. */
export const handler = jobHandler<'video:full', Made>({
  made: madeSchema,
  async process(context) {
    const { options } = context.task;
    const { reporter } = context;
    const source = await examineVideo(context);
    reporter.phase('encoding');
    const cover = await runStage(context, 'cover', () => makeCover(source, options.cover, context));
    reporter.progress(shares.cover);
    const preview = await runStage(context, 'preview', () => makePreview(source, options.preview, context));
    const before = shares.cover + shares.preview;
    reporter.progress(before);
    const transcode = await runStage(context, 'transcode', () =>
      encodeStream(source, context, (fraction) => reporter.progress(before + fraction * (1 - before))),
    );
    for (const warning of warningsOf({ cover, preview, transcode })) reporter.warn(warning);
    return { cover, preview, transcode };
  },
  async publish(context, made) {
    context.reporter.phase('packaging');
    const transcode = await packageStage(context, made.transcode);
    return productOf(context, made, transcode);
  },
});

async function packageStage(
  context: PublishContext<'video:full'>,
  { made: encoded, error }: Made['transcode'],
): Promise<Stage<Awaited<ReturnType<typeof packageStream>>>> {
  if (encoded === null) return { made: null, error };
  return runStage(context, 'transcode', () => packageStream(encoded, context.task.options.transcode, context));
}

function productOf(
  { task, workspace }: PublishContext<'video:full'>,
  { cover, preview, transcode: encoding }: Made,
  transcode: Stage<Awaited<ReturnType<typeof packageStream>>>,
): Product<'video:full'> {
  const errors = { cover: cover.error, preview: preview.error, transcode: transcode.error };
  const files: PublishedFile[] = [];
  const artifacts: JobResults<'video:full'>['artifacts'] = {};
  if (cover.made !== null) {
    const key = videoKey(task.hash, task.rev, coverPath);
    files.push({ key, path: workspace.at(coverFile) });
    artifacts.cover = { key, format: 'jpg', size: cover.made.size };
  }
  if (preview.made !== null) {
    const { format, size } = preview.made;
    const key = videoKey(task.hash, task.rev, previewPath(format));
    files.push({ key, path: workspace.at(previewFile(format)) });
    artifacts.preview = { key, format, size };
  }
  return {
    results: {
      ...transcode.made?.results,
      ...fullOutcome(errors),
      artifacts,
      warnings: warningsOf({ cover, preview, transcode: encoding }),
    },
    error: firstStageError(errors),
    // The stream comes last, with its master at its end.
    files: [...files, ...(transcode.made?.files ?? [])],
  };
}

function warningsOf({ cover, preview, transcode }: Made): Warning[] {
  return [cover, preview, transcode].flatMap(({ made }) => made?.warnings ?? []);
}
