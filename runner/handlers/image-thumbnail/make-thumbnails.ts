import { join } from 'node:path';
import { KnownProblem } from '#domain/errors.ts';
import type { ThumbnailOutput } from '#domain/job-types/image-thumbnail.ts';
import type { Placeholder, Warning } from '#domain/job-types/shared-results.ts';
import type { FrameSize } from '#domain/media/frame-size.ts';
import { decodeProblem, imagePixelsMax, isHarmless, openImage, type OpenedImage } from '#platform/images/open-image.ts';
import { sharp } from '#platform/images/sharp.ts';
import { type StepContext, workspaceFiles } from '../../context/step-context.ts';
import { encodeAs } from '../../tools/images.ts';
import { placeholderOf } from '../../tools/placeholder.ts';
import { inCascade, planOutputs } from './plan.ts';

/** The time limit of an image that is decoded in WebAssembly, on a slow machine. */
const decodeTimeoutMs = 5 * 60_000;

/**
 * The outputs of one job take at most this long, plus one output. Twenty AVIF outputs of 12 megapixels take about half
 * of it on one core.
 */
const outputsTimeMs = 10 * 60_000;

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
 * @returns the images in the order of `outputs`, and their placeholder
 * @throws KnownProblem `unsupported_media`, `corrupt_input`, `limit_exceeded`, `deadline_exceeded`
 */
export async function makeThumbnails(
  outputs: readonly ThumbnailOutput[],
  context: StepContext,
  timeMs: number = outputsTimeMs,
): Promise<{ images: MadeImage[]; placeholder: Placeholder; warnings: Warning[] }> {
  const endsAtMs = performance.now() + timeMs;
  context.reporter.phase('encoding');
  const { planned, warnings, ...decoded } = await decodeLargest(outputs, context);
  let { pixels } = decoded;
  const made: MadeImage[] = [];
  for (const { output, width, height } of planned) {
    context.signal.throwIfAborted();
    if (performance.now() > endsAtMs) throw tooSlow(made.length, planned.length);
    pixels = await scale(pixels, { width, height });
    const file = join(workspaceFiles.made, `${output.variant}.${output.format}`);
    const scaled = sharp(pixels.data, { raw: pixels.info });
    const { size } = await encodeAs(scaled, output.format).toFile(context.workspace.at(file));
    made.push({ output, width, height, size });
    context.reporter.progress(made.length / planned.length);
  }
  const placeholder = await placeholderOf(sharp(pixels.data, { raw: pixels.info }));
  return { images: outputs.flatMap((output) => made.filter((each) => each.output === output)), placeholder, warnings };
}

/** Decodes at the largest width; again, with a warning, where the decoder only warned of what loses nothing. */
async function decodeLargest(outputs: readonly ThumbnailOutput[], context: StepContext) {
  const attempt = async (failOn: 'warning' | 'error') => {
    const limits = { pixelsMax: imagePixelsMax, timeoutMs: decodeTimeoutMs, signal: context.signal, waitingMax: 0 };
    const image = await openImage(context.workspace.at(workspaceFiles.source), { ...limits, failOn });
    const planned = inCascade(planOutputs(image, outputs));
    const [largest] = planned;
    if (largest === undefined) throw new Error('a thumbnail job has at least one output');
    return { planned, pixels: await decode(image, largest), warnings: damageWarnings(image) };
  };
  try {
    return await attempt('warning');
  } catch (error) {
    if (!isHarmless(error)) throw error;
    return { ...(await attempt('error')), warnings: [oddCoding] };
  }
}

const damages = {
  rows: 'Rows at the end of the image cannot be read.',
  pages: 'The page after the first cannot be read.',
} as const;

function damageWarnings({ damage }: OpenedImage): Warning[] {
  return damage === undefined ? [] : [{ code: 'damaged_image', message: damages[damage] }];
}

const oddCoding: Warning = {
  code: 'odd_coding',
  message: 'The decoder warns of the way the image is stored; no pixel is missing.',
};

function tooSlow(made: number, wanted: number): KnownProblem {
  const message = `${made} of ${wanted} outputs were made in the time of an image job; ask for fewer or smaller ones.`;
  return new KnownProblem('limit_exceeded', message);
}

async function decode(image: OpenedImage, { width, height }: FrameSize): Promise<Pixels> {
  const resized = image.read().resize({ width, height, fit: 'fill' });
  return asPixels(await resized.raw({ depth: 'uchar' }).toBuffer({ resolveWithObject: true }).catch(decodeProblem));
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
