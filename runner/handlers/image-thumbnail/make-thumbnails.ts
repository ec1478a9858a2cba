import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { KnownProblem } from '#domain/errors.ts';
import type { ThumbnailOutput } from '#domain/job-types/image-thumbnail.ts';
import type { FrameSize } from '#domain/media/frame-size.ts';
import { places, type StepContext } from '../../context.ts';
import { imageKindOf } from '../../source/image-kinds.ts';
import { encodeAs, imagePixelsMax, sharp } from '../../tools/images.ts';
import { inCascade, planOutputs } from './plan.ts';

/** An image that was written. `size` in bytes. */
export interface MadeImage extends FrameSize {
  readonly output: ThumbnailOutput;
  readonly place: string;
  readonly size: number;
}

/** Pixels of one step of the cascade, in sRGB, 8 bits a channel. */
interface Pixels {
  readonly data: Buffer;
  readonly info: { readonly width: number; readonly height: number; readonly channels: 1 | 2 | 3 | 4 };
}

/**
 * Writes every output: the source is decoded once, at the largest width that is asked for, upright and in sRGB, and
 * each further output is scaled from the one before.
 *
 * @returns in the order of `outputs`
 * @throws KnownProblem `unsupported_media`, `corrupt_input`, `limit_exceeded`
 */
export async function makeThumbnails(outputs: readonly ThumbnailOutput[], context: StepContext): Promise<MadeImage[]> {
  const path = context.workspace.at(places.source);
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
    const place = join(places.made, `${output.variant}.${output.format}`);
    const image = sharp(pixels.data, { raw: pixels.info });
    const { size } = await encodeAs(image, output.format).toFile(context.workspace.at(place));
    made.push({ output, place, width, height, size });
    context.reporter.progress(made.length / planned.length);
  }
  return outputs.flatMap((output) => made.filter((each) => each.output === output));
}

async function measure(path: string): Promise<FrameSize> {
  const kind = imageKindOf(await readHead(path));
  if (kind === null) throw new KnownProblem('unsupported_media', 'The source is no image of a kind that is supported.');
  try {
    // Only the header is read, so this cannot be a bomb's fuse.
    const { autoOrient, width, height } = await sharp(path, { limitInputPixels: false }).metadata();
    if (width * height > imagePixelsMax) {
      throw new KnownProblem('limit_exceeded', `The image has more than ${imagePixelsMax / 1e6} megapixels.`);
    }
    return autoOrient;
  } catch (error) {
    throw decodeProblem(error);
  }
}

async function readHead(path: string): Promise<Buffer> {
  await using file = await open(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(64), 0, 64, 0);
  return buffer.subarray(0, bytesRead);
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

/** The container was one of ours, so bytes that its loader refuses are damaged. */
function decodeProblem(error: unknown): unknown {
  if (error instanceof KnownProblem || !(error instanceof Error)) return error;
  return new KnownProblem('corrupt_input', 'The image is damaged and cannot be decoded.', { cause: error });
}
