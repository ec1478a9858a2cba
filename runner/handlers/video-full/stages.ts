import { z } from 'zod';
import type { ImageStages } from '#domain/job-types/image-stages.ts';
import type { JobResults } from '#domain/job-types/index.ts';
import type { Warning } from '#domain/job-types/shared-results.ts';
import { firstStageError, fullOutcome } from '#domain/job-types/video-full.ts';
import { type JobError, jobErrorSchema, toJobError } from '#domain/job-error.ts';
import { videoKey } from '#domain/media/object-keys.ts';
import { coverPath, previewPath } from '#domain/media/revision-layout.ts';
import { asProblem } from '#domain/resource-problem.ts';
import type { StepContext } from '../../context/step-context.ts';
import type { VideoSource } from '../../source/examine-video.ts';
import type { Product, PublishedFile } from '../job-handler.ts';
import { coverFile, coverMadeSchema, makeCover } from '../video-cover/make-cover.ts';
import { makePreview, previewFile, previewMadeSchema } from '../video-preview/make-preview.ts';

/** The output of a stage, or the error that ended it. */
export type Stage<T> = { readonly made: T; readonly error: null } | { readonly made: null; readonly error: JobError };

export function stageSchema<S extends z.ZodType>(made: S) {
  return z.union([z.object({ made, error: z.null() }), z.object({ made: z.null(), error: jobErrorSchema })]);
}

/** The products of the stages whose output is one image each. */
export const imagesMadeSchema = z.object({
  cover: stageSchema(coverMadeSchema),
  preview: stageSchema(previewMadeSchema),
});
type ImagesMade = z.infer<typeof imagesMadeSchema>;

/** The approximate share of the work of each stage. */
const shares = { cover: 0.02, preview: 0.05 } as const;
/** The share of the work before the stream. */
export const imageShare = shares.cover + shares.preview;

/** Runs one stage. A failure becomes the stage's error and stops no other stage; an abort of the step stops all. */
export async function runStage<T>(context: StepContext, stage: string, work: () => Promise<T>): Promise<Stage<T>> {
  try {
    return { made: await work(), error: null };
  } catch (thrown) {
    context.signal.throwIfAborted();
    context.log.error({ err: thrown, stage }, 'stage failed');
    return { made: null, error: toJobError(asProblem(thrown), context.task.attempt) };
  }
}

/** Makes cover and preview of an examined source. */
export async function makeImages(source: VideoSource, context: StepContext<'video:full'>): Promise<ImagesMade> {
  const { reporter, task } = context;
  const cover = await runStage(context, 'cover', () => makeCover(source, task.options.cover, context));
  reporter.progress(shares.cover);
  const preview = await runStage(context, 'preview', () => makePreview(source, task.options.preview, context));
  reporter.progress(imageShare);
  return { cover, preview };
}

/** How the stages of the images ended, and their files in the workspace. */
export function imagesOf(
  { cover, preview }: ImagesMade,
  { task, workspace }: Pick<StepContext<'video:full'>, 'task' | 'workspace'>,
): { images: ImageStages; files: PublishedFile[] } {
  const files: PublishedFile[] = [];
  const artifacts: ImageStages['artifacts'] = {};
  if (cover.made !== null) {
    const key = videoKey(task.hash, task.rev, coverPath);
    files.push({ key, path: workspace.at(coverFile) });
    artifacts.cover = { key, format: 'jpg', size: cover.made.size, ...cover.made.placeholder };
  }
  if (preview.made !== null) {
    const { format, size } = preview.made;
    const key = videoKey(task.hash, task.rev, previewPath(format));
    files.push({ key, path: workspace.at(previewFile(format)) });
    artifacts.preview = { key, format, size };
  }
  const errors = { cover: cover.error, preview: preview.error };
  return { images: { artifacts, errors, warnings: warningsOf({ cover, preview }) }, files };
}

/** The results and the error of a job by how its stages ended. */
export function outcomeOf(
  { artifacts, errors: imageErrors, warnings }: ImageStages,
  transcode: Stage<{ readonly results: JobResults<'video:transcode'> }>,
): Pick<Product<'video:full'>, 'results' | 'error'> {
  const errors = { ...imageErrors, transcode: transcode.error };
  const results = transcode.made?.results;
  return {
    results: { ...results, ...fullOutcome(errors), artifacts, warnings: [...warnings, ...(results?.warnings ?? [])] },
    error: firstStageError(errors),
  };
}

/** The warnings of stages that were made. */
export function warningsOf(stages: Record<string, Stage<{ readonly warnings: readonly Warning[] }>>): Warning[] {
  return Object.values(stages).flatMap(({ made }) => made?.warnings ?? []);
}
