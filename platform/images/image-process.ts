import { Socket } from 'node:net';
import { availableParallelism } from 'node:os';
import { KnownProblem } from '#domain/errors.ts';
import { frameReader, writeFrame } from './frames.ts';
import { type ImageAnswer, imagePipe, type ImageRequest, type ImageWork } from './image-work.ts';
import { openImage } from './open-image.ts';
import { type Sharp, sharp } from './sharp.ts';

/**
 * The process that decodes images for delivery. It is started by `ImageProcessor` with an empty environment, so a
 * picture that breaks the decoder finds no secret, no credential and no connection here.
 */

/**
 * Of an image that is decoded in WebAssembly: about 300 MB of memory, beside what the server holds, and two images within
 * the time that `ImageProcessor` waits.
 */
const wasmLimits = { pixelsMax: 25_000_000, timeoutMs: 9000, waitingMax: 1 } as const;
/** Effort 2 of 6 takes a third of the default's time for a few percent of size: a client is waiting. */
const webpEffort = 2;
const avifEffort = 2;

// As many images at once as there are cores, one thread each: less waiting than one image on all cores.
sharp.concurrency(1);

/** An encoder for each format. JPEG has no transparency; the background is white, as on a page. */
const encoders = {
  webp: (image, quality) => image.webp({ quality, effort: webpEffort }),
  avif: (image, quality) => image.avif({ quality, effort: avifEffort }),
  png: (image) => image.png(),
  jpg: (image, quality) => image.flatten({ background: '#ffffff' }).jpeg({ quality, optimiseCoding: false }),
} as const satisfies Record<ImageWork['format'], (image: Sharp, quality: number) => Sharp>;

async function make(source: Buffer, { width, height, fit, format, quality }: ImageWork): Promise<Buffer> {
  const { frames, read } = await openImage(source, { ...wasmLimits, failOn: 'error' });
  // Only WebP keeps an animation; its frames are never turned.
  const image = read(format === 'webp' && frames > 1 ? 'all' : 'first');
  const background = format === 'jpg' ? '#ffffff' : { r: 0, g: 0, b: 0, alpha: 0 };
  const resized = image.resize({
    ...(width === null ? {} : { width }),
    ...(height === null ? {} : { height }),
    fit,
    background,
    withoutEnlargement: true,
  });
  return encoders[format](resized, quality).toBuffer();
}

const waiting: QueuedImage[] = [];
let running = 0;

interface QueuedImage extends ImageRequest {
  readonly source: Buffer;
}

// The parent bounds what it sends: whole objects of the bucket.
const take = frameReader({ headBytesMax: 64 * 1024, sizeBytesMax: Number.MAX_SAFE_INTEGER }, (head, source) => {
  waiting.push({ ...(head as ImageRequest), source });
  next();
});
const chunk = Buffer.allocUnsafeSlow(256 * 1024);
const onChunk = (count: number) => {
  take(chunk.subarray(0, count));
  return true;
};
// A malformed frame ends this process, since `take` throws.
const parent = new Socket({ fd: imagePipe, onread: { buffer: chunk, callback: onChunk } });

async function answer({ id, source, work }: QueuedImage): Promise<void> {
  const reply = (refused: ImageAnswer['refused'], made: readonly Buffer[]) =>
    writeFrame(parent, { id, refused } satisfies ImageAnswer, made);
  try {
    reply(null, [await make(source, work)]);
  } catch (error) {
    const why = error instanceof Error ? error.message.slice(0, 500) : 'unknown';
    reply({ why, isBusy: error instanceof KnownProblem && error.code === 'busy' }, []);
  }
}

function next(): void {
  // One more than there are cores, so that none is idle between two images.
  if (running > availableParallelism()) return;
  const image = waiting.shift();
  if (image === undefined) return;
  running += 1;
  void answer(image).finally(() => {
    running -= 1;
    next();
  });
  next();
}

// The parent has ended, and with it every request.
parent.on('close', () => process.exit());
parent.on('error', () => process.exit());
parent.on('end', () => process.exit());
