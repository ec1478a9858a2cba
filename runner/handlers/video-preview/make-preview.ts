import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { isJobProblem } from '#domain/errors.ts';
import type { JobOptions } from '#domain/job-types/index.ts';
import { type Warning, warningsSchema } from '#domain/job-types/shared-results.ts';
import { previewFormats } from '#domain/job-types/shared-results.ts';
import { previewPath } from '#domain/media/revision-layout.ts';
import { evenDown, evenNear, type FrameSize } from '#domain/media/frame-size.ts';
import { type Sharp, sharp } from '#platform/images/sharp.ts';
import { type StepContext, workspaceFiles } from '../../context/step-context.ts';
import type { VideoSource } from '../../source/examine-video.ts';
import { grabFrameAt, grabLastFrame } from '../../source/grab-frame.ts';
import { shownSince } from '../../source/shown-since.ts';
import { sideMaxOf } from '../../tools/images.ts';
import { runTool } from '../../tools/run-tool.ts';
import { needsPaletteFirst, paletteCommand, type Preview, previewCommand } from './command.ts';

type PreviewOptions = JobOptions<'video:preview'>;

/** The animation that `makePreview` writes to `previewFile`. */
export const previewMadeSchema = z.object({
  format: z.enum(previewFormats),
  width: z.int().positive(),
  height: z.int().positive(),
  size: z.int().positive(),
  frames: z.int().positive(),
  warnings: warningsSchema,
});
export type PreviewMade = z.infer<typeof previewMadeSchema>;

/** The file of a preview in the workspace. */
export function previewFile(format: PreviewOptions['format']): string {
  return join(workspaceFiles.made, previewPath(format));
}

const previewTimeoutMs = 15 * 60_000;
const paletteFile = join(workspaceFiles.made, 'palette.png');

/** The size of a preview: the requested width, made even, at most the source's, and at most what WebP can store. */
export function previewSize(source: FrameSize, width: number): FrameSize {
  const sideMax = evenDown(sideMaxOf.webp);
  const written = evenDown(Math.min(width, source.width, (sideMax * source.width) / source.height));
  return { width: written, height: Math.min(evenNear((written * source.height) / source.width), sideMax) };
}

/** Start and length of a preview. One that would pass the end begins earlier. */
export function previewSpan(
  endSec: number,
  options: Pick<PreviewOptions, 'start_sec' | 'duration'>,
): { startSec: number; durationSec: number } {
  const startSec = Math.max(0, Math.min(options.start_sec, endSec - options.duration));
  return { startSec, durationSec: options.duration };
}

/**
 * Makes a short silent animation.
 *
 * @throws KnownProblem `corrupt_input` when no frame can be decoded
 */
export async function makePreview(
  source: VideoSource,
  options: PreviewOptions,
  context: StepContext,
): Promise<PreviewMade> {
  const { format, fps, width } = options;
  const span = previewSpan(source.video.endSec, options);
  const warnings: Warning[] = [];
  if (span.startSec < options.start_sec) {
    const message = `A preview from ${options.start_sec} s would pass the end; it begins at ${span.startSec.toFixed(3)} s.`;
    warnings.push({ code: 'preview_start_moved', message });
  }
  const size = previewSize(source.video, width);
  const output = previewFile(format);
  const leadSec = await leadOf(source, span.startSec, context);
  const preview = { source, ...span, leadSec, fps, size, format, output };
  if (!(await isAnimated(preview, context))) await makeStill(preview, context);
  const path = context.workspace.at(output);
  const { size: bytes } = await stat(path);
  // Counted in the file: the encoders merge equal frames.
  const { pages = 1 } = await sharp(path, { pages: -1 }).metadata();
  return { format, ...size, size: bytes, frames: pages, warnings };
}

/** How much earlier than `startSec` decoding begins, so that the frame is there that is shown then. */
async function leadOf(source: VideoSource, startSec: number, context: StepContext): Promise<number> {
  const sinceSec = startSec === 0 ? null : await shownSince(source, startSec, context);
  return sinceSec === null ? 0 : Number((startSec - sinceSec).toFixed(6));
}

const undecodable = { code: 'corrupt_input', message: 'The preview cannot be decoded.' } as const;

/** Writes the animation; false when the source has no frame there, or one for which the encoder makes no animation. */
async function isAnimated(preview: Preview, context: StepContext): Promise<boolean> {
  try {
    const program = context.program('ffmpeg');
    const limits = { timeoutMs: previewTimeoutMs, failure: undecodable };
    const palette = needsPaletteFirst(preview) ? paletteFile : null;
    if (palette !== null) await runTool(paletteCommand(program, preview, palette), limits, context);
    await runTool(previewCommand(program, preview, palette), limits, context);
    return (await stat(context.workspace.at(preview.output))).size > 0;
  } catch (error) {
    if (!isJobProblem(error) || error.code !== undecodable.code) throw error;
    context.log.info({ err: error }, 'preview has one frame');
    return false;
  } finally {
    await rm(context.workspace.at(paletteFile), { force: true });
  }
}

/** Writes an animation of one frame: the one that is shown at the start of the preview, else the last of the source. */
async function makeStill(
  { source, startSec, size, format, output }: Preview & { readonly source: VideoSource },
  context: StepContext,
): Promise<void> {
  const first = await grabFrameAt(source, startSec, context);
  const { file } = first ?? (await grabLastFrame(source, context));
  const image = sharp(context.workspace.at(file)).resize({ ...size, fit: 'fill' });
  await stillEncoders[format](image).toFile(context.workspace.at(output));
  await rm(context.workspace.at(file));
}

const stillEncoders = {
  webp: (image) => image.webp({ quality: 75 }),
  gif: (image) => image.gif(),
} as const satisfies Record<PreviewOptions['format'], (image: Sharp) => Sharp>;
