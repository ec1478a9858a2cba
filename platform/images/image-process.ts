import { Socket } from 'node:net';
import { KnownProblem } from '#domain/errors.ts';
import { asProblem } from '#domain/resource-problem.ts';
import { frameReader, writeFrame } from './frames.ts';
import { type ImageAnswer, imagePipe, type ImageRequest, type ImageWork } from './image-work.ts';
import { openImage } from './open-image.ts';
import { type Sharp, sharp } from './sharp.ts';

/**
 * The process that decodes images for delivery. `ImageProcessor` starts it with an empty environment, so an image that
 * breaks the decoder finds no secret, credential or connection.
 */

/**
 * For decoding in WebAssembly: about 300 MB of memory for an image, and time for two within `ImageProcessor`'s limit.
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

/** Problems that have to do with no image: another request may succeed. */
const busyCodes: ReadonlySet<KnownProblem['code']> = new Set(['busy', 'resource_exhausted']);

// The parent bounds what it sends, whole objects of the bucket, and how many at once.
const take = frameReader({ headBytesMax: 64 * 1024, sizeBytesMax: Number.MAX_SAFE_INTEGER }, (head, source) => {
  void answer(head as ImageRequest, source);
});
const chunk = Buffer.allocUnsafeSlow(256 * 1024);
const onChunk = (count: number) => {
  take(chunk.subarray(0, count));
  return true;
};
// A malformed frame ends this process, since `take` throws.
const parent = new Socket({ fd: imagePipe, onread: { buffer: chunk, callback: onChunk } });

async function answer({ id, work }: ImageRequest, source: Buffer): Promise<void> {
  const reply = (refused: ImageAnswer['refused'], made: readonly Buffer[]) =>
    writeFrame(parent, { id, refused } satisfies ImageAnswer, made);
  try {
    reply(null, [await make(source, work)]);
  } catch (thrown) {
    const error = asProblem(thrown);
    const why = error instanceof Error ? error.message.slice(0, 500) : 'unknown';
    reply({ why, isBusy: error instanceof KnownProblem && busyCodes.has(error.code) }, []);
  }
}

// The parent has ended, and with it every request.
parent.on('close', () => process.exit());
parent.on('error', () => process.exit());
parent.on('end', () => process.exit());
