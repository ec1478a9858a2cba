import type { ThumbnailOutput } from '#domain/job-types/image-thumbnail.ts';
import type { FrameSize } from '#domain/media/frame-size.ts';
import { sideMaxOf } from '../../tools/images.ts';

/** An output and the size that it will have. */
export interface PlannedOutput extends FrameSize {
  readonly output: ThumbnailOutput;
}

/**
 * The size of each output: the requested width, at most the source's, and at most what the format can store.
 *
 * @param source upright: after its EXIF orientation
 */
export function planOutputs(source: FrameSize, outputs: readonly ThumbnailOutput[]): PlannedOutput[] {
  return outputs.map((output) => {
    const sideMax = sideMaxOf[output.format];
    const width = Math.min(output.width, source.width, sideMax, (sideMax * source.width) / source.height);
    const height = Math.max(1, Math.round((width * source.height) / source.width));
    return { output, width: Math.max(1, Math.floor(width)), height: Math.min(height, sideMax) };
  });
}

/**
 * The order of a cascade: each output is made from the one before it, so that only the first costs a large decode.
 */
export function inCascade<P extends FrameSize>(planned: readonly P[]): P[] {
  return planned.toSorted((a, b) => b.width - a.width);
}
