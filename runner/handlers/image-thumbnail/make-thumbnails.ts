import { join } from 'node:path';
import { KnownProblem } from '#domain/errors.ts';
import type { ThumbnailOutput } from '#domain/job-types/image-thumbnail.ts';
import type { FrameSize } from '#domain/media/frame-size.ts';
import { type StepContext, workspaceFiles } from '../../context/step-context.ts';
import { imageKindOf } from '../../source/image-kinds.ts';
import { readHead } from '../../source/probe.ts';
import { encodeAs, imagePixelsMax, sharp } from '../../tools/images.ts';
import { inCascade, planOutputs } from './plan.ts';

const headBytes = 64;

/** An image that was written. `size` in bytes. */
export interface MadeImage extends FrameSize {
  readonly output: ThumbnailOutput;
  readonly size: number;
}

/** Pixels of one step of the cascade, in sRGB, 8 bits a channel. */
interface Pixels {
  readonly data: Buffer;
  readonly info: { readonly width: number; readonly height: number; readonly channels: 1 | 2 | 3 | 4 };
}

/**
 * Writes every output. The source is decoded once, at the largest requested width, upright and in sRGB; each further
 * output is scaled from the one before.
 *
 * @returns in the order of `outputs`
 * @throws KnownProblem `unsupported_media`, `corrupt_input`, `limit_exceeded`
 */
export async function makeThumbnails(outputs: readonly ThumbnailOutput[], context: StepContext): Promise<MadeImage[]> {
  const path = context.workspace.at(workspaceFiles.source);
  const upright = await measure(path);
  const planned = inCascade(planOutputs(upright, outputs));
  const largest = planned[0];
  if (largest === undefined) return [];
  context.reporter.phase('encoding');
  let pixels = await decode(path, largest);
  const made: MadeImage[] = [];
  for (const { output, width, height } of planned) {
    context.signal.throwIfAborted();
    pixels = await scale(pixels, { width, height });
    const file = join(workspaceFiles.made, `${output.variant}.${output.format}`);
    const image = sharp(pixels.data, { raw: pixels.info });
    const { size } = await encodeAs(image, output.format).toFile(context.workspace.at(file));
    made.push({ output, width, height, size });
    context.reporter.progress(made.length / planned.length);
  }
  return outputs.flatMap((output) => made.filter((each) => each.output === output));
}

async function measure(path: string): Promise<FrameSize> {
  const kind = imageKindOf(await readHead(path, headBytes));
  if (kind === null) throw new KnownProblem('unsupported_media', 'The source is not an image of a supported kind.');
  try {
    // Only the header is read, so no limit is needed against decompression bombs.
    const { autoOrient, width, height } = await sharp(path, { limitInputPixels: false }).metadata();
    if (width * height > imagePixelsMax) {
      throw new KnownProblem('limit_exceeded', `The image has more than ${imagePixelsMax / 1e6} megapixels.`);
    }
    return autoOrient;
  } catch (error) {
    throw decodeProblem(error);
  }
}

async function decode(path: string, { width, height }: FrameSize): Promise<Pixels> {
  try {
    return asPixels(
      await sharp(path, { limitInputPixels: imagePixelsMax, failOn: 'warning', sequentialRead: true })
        .autoOrient()
        .resize({ width, height, fit: 'fill' })
        .toColourspace('srgb')
        .raw({ depth: 'uchar' })
        .toBuffer({ resolveWithObject: true }),
    );
  } catch (error) {
    throw decodeProblem(error);
  }
}

async function scale(pixels: Pixels, { width, height }: FrameSize): Promise<Pixels> {
  if (pixels.info.width === width && pixels.info.height === height) return pixels;
  const scaled = sharp(pixels.data, { raw: pixels.info }).resize({ width, height, fit: 'fill' });
  return asPixels(await scaled.raw().toBuffer({ resolveWithObject: true }));
}

function asPixels({ data, info }: { data: Buffer; info: { width: number; height: number; channels: number } }): Pixels {
  const { width, height, channels } = info;
  return { data, info: { width, height, channels: channels as Pixels['info']['channels'] } };
}

/** The kind is a supported one, so an image that its loader refuses is damaged. */
function decodeProblem(error: unknown): unknown {
  if (error instanceof KnownProblem || !(error instanceof Error)) return error;
  return new KnownProblem('corrupt_input', 'The image is damaged and cannot be decoded.', { cause: error });
}
