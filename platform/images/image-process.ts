import { Socket } from 'node:net';
import { KnownProblem } from '#domain/errors.ts';
import { asProblem } from '#domain/resource-problem.ts';
import { frameReader, writeFrame } from './frames.ts';
import { type ImageAnswer, imagePipe, type ImageRefusal, type ImageRequest, type ImageWork } from './image-work.ts';
import { type OpenedImage, openImage } from './open-image.ts';
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

/** An encoder for each format. */
const encoders = {
  webp: (image, quality) => image.webp({ quality, effort: webpEffort }),
  avif: (image, quality) => image.avif({ quality, effort: avifEffort }),
  png: (image) => image.png(),
  jpg: (image, quality) => image.jpeg({ quality, optimiseCoding: false }),
} as const satisfies Record<ImageWork['format'], (image: Sharp, quality: number) => Sharp>;

async function make(source: Buffer, work: ImageWork): Promise<Buffer> {
  const { width, height, fit, format, quality, operations } = work;
  const opened = await openImage(source, { ...wasmLimits, failOn: 'error' });
  // Only WebP keeps an animation; its frames are never turned.
  const isMoving = format === 'webp' && opened.frames > 1;
  if (isMoving) refuseMoving(operations);
  const image = cropped(opened.read(isMoving ? 'all' : 'first'), opened, operations);
  const { gravity, blur, sharpen } = operations;
  const background = backgroundOf(work);
  const resized = image.resize({
    ...(width === null ? {} : { width }),
    ...(height === null ? {} : { height }),
    ...(gravity === undefined ? {} : { position: gravity }),
    fit,
    background,
    withoutEnlargement: true,
  });
  if (blur !== undefined) resized.blur(blur);
  if (sharpen !== undefined) resized.sharpen({ sigma: sharpen });
  // JPEG has no transparency.
  if (operations.background !== undefined || format === 'jpg') resized.flatten({ background });
  return encoders[format](resized, quality).toBuffer();
}

/** Without a colour, margins stay transparent, and in JPEG are white, as on a page. */
function backgroundOf({ format, operations: { background } }: ImageWork) {
  if (background !== undefined) return `#${background}`;
  return format === 'jpg' ? '#ffffff' : { r: 0, g: 0, b: 0, alpha: 0 };
}

/** The image turned and then trimmed or cut; sharp turns before it cuts, where it is told so in this order. */
function cropped(image: Sharp, size: Size, { rotate, trim, crop }: ImageWork['operations']): Sharp {
  const turned = rotate === undefined ? image : image.rotate(rotate);
  if (trim !== undefined) return turned.trim({ threshold: trim });
  if (crop === undefined) return turned;
  const isOnItsSide = rotate === 90 || rotate === 270;
  const [wide, high] = isOnItsSide ? [size.height, size.width] : [size.width, size.height];
  const [width, height] = [Math.min(crop.width, wide - crop.left), Math.min(crop.height, high - crop.top)];
  if (width < 1 || height < 1)
    throw new UnfitOperation('crop', `begins outside of the image, which is ${wide} × ${high}`);
  return turned.extract({ left: crop.left, top: crop.top, width, height });
}

type Size = Pick<OpenedImage, 'width' | 'height'>;

/** The frames of an animation are stored below one another: these would mix them. */
function refuseMoving(operations: ImageWork['operations']): void {
  const { gravity, rotate, trim, blur, sharpen } = operations;
  const smart = gravity === 'attention' || gravity === 'entropy' ? gravity : undefined;
  for (const [name, value] of Object.entries({ gravity: smart, rotate, trim, blur, sharpen }))
    if (value !== undefined)
      throw new UnfitOperation(
        name as keyof typeof operations,
        `does not fit an animation; f=png shows its first frame`,
      );
}

/** An operation that the image does not allow. */
class UnfitOperation extends Error {
  readonly operation: keyof ImageWork['operations'];

  constructor(operation: keyof ImageWork['operations'], message: string) {
    super(message);
    this.operation = operation;
  }
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
    reply(refusalOf(asProblem(thrown)), []);
  }
}

function refusalOf(error: unknown): ImageRefusal {
  const why = error instanceof Error ? error.message.slice(0, 500) : 'unknown';
  if (error instanceof UnfitOperation) return { kind: 'unfit', why, operation: error.operation };
  const isBusy = error instanceof KnownProblem && busyCodes.has(error.code);
  return { kind: isBusy ? 'busy' : 'unreadable', why };
}

// The parent has ended, and with it every request.
parent.on('close', () => process.exit());
parent.on('error', () => process.exit());
parent.on('end', () => process.exit());
