import { open, readFile } from 'node:fs/promises';
import { KnownProblem } from '#domain/errors.ts';
import { asProblem } from '#domain/resource-problem.ts';
import { leavesCanvasFree, withTransparentFrame } from './gif-canvas.ts';
import { heifColourOf, isPremultiplied } from './heif-colour.ts';
import { stillOfSequence } from './heif-sequence.ts';
import { decodedKinds, imageHeadBytes, imageKindOf } from './image-kinds.ts';
import { hasOddScan, jpegStartBytes, writeScanParameters } from './jpeg-scans.ts';
import { isNotSrgb } from './numbered-colour.ts';
import { pngColourOf } from './png-colour.ts';
import { type Sharp, sharp } from './sharp.ts';
import { decodeInWasm, type ImageDamage, type WasmKind, type WasmLimits } from './wasm-decoder.ts';

/** The largest image that is decoded (docs/reference/media.md, "Still images"). */
export const imagePixelsMax = 100_000_000;

/** An image whose kind, size and colour space are known, ready to be decoded. Sizes in pixels, upright. */
export interface OpenedImage {
  readonly width: number;
  readonly height: number;
  readonly frames: number;
  readonly damage?: ImageDamage;
  /** The first frame, upright and in sRGB; or all frames of an animation, as they are stored. */
  readonly read: (frames?: 'first' | 'all') => Sharp;
}

interface OpenOptions extends WasmLimits {
  /** How much damage libvips accepts. */
  readonly failOn: 'warning' | 'error';
}

/**
 * Recognises an image and decodes it where libvips cannot; libvips reads when the `read` image is written.
 *
 * @param source a path, or the content of the file
 * @throws KnownProblem `unsupported_media`, `corrupt_input`, `limit_exceeded`, `deadline_exceeded`
 */
export async function openImage(source: string | Buffer, options: OpenOptions): Promise<OpenedImage> {
  const head = await headOf(source, imageHeadBytes);
  const kind = imageKindOf(head);
  if (head.length === 0) throw new KnownProblem('unsupported_media', 'The source is empty.');
  if (kind === null) {
    const message = `The source is not an image of a known kind: ${decodedKinds.join(', ')}.`;
    throw new KnownProblem('unsupported_media', message);
  }
  if (kind.decoder === null)
    throw new KnownProblem('unsupported_media', `The image is of a kind that is not supported: ${kind.name}.`);
  if (sequenceBrands.includes(head.toString('latin1', 8, 12))) {
    const still = stillOfSequence(await contentOf(source));
    if (still !== null) return openImage(still, options);
  }
  const isForVips = kind.decoder === 'libvips' && !isMisreadByVips(kind.name, head);
  const opened = isForVips ? await openInVips(await forVips(source, kind.name, head), options) : null;
  if (opened !== null) return opened;
  const decoded = await decodeInWasm(await contentOf(source), kind.name as WasmKind, options);
  const { data, damage, ...raw } = decoded;
  const { width, height } = raw;
  return { width, height, frames: 1, ...(damage === undefined ? {} : { damage }), read: () => sharp(data, { raw }) };
}

/** The brands of files that may have a sequence and no still image. */
const sequenceBrands = ['avis', 'hevc', 'hevx', 'msf1'];

/** The marker at the end of a JPEG (ITU-T T.81, B.1.1.3). */
const endOfImage = Buffer.from([0xff, 0xd9]);

/** The file as libvips accepts it. It does not know the brand of AVIF sequences, which have a still image too. */
async function forVips(source: string | Buffer, kind: string, head: Buffer): Promise<string | Buffer> {
  if (kind === 'jpeg') return jpegForVips(source);
  if (head.toString('latin1', 4, 12) !== 'ftypavis') return source;
  const content = Buffer.from(await contentOf(source));
  content.write('avif', 8, 'latin1');
  return content;
}

/**
 * libvips takes a JPEG without its last marker for one that is cut off; with it, it finds by itself whether anything
 * else is missing.
 */
async function jpegForVips(source: string | Buffer): Promise<string | Buffer> {
  const isEnded = (await tailOf(source, endOfImage.length)).equals(endOfImage);
  const isOdd = hasOddScan(await headOf(source, jpegStartBytes));
  if (isEnded && !isOdd) return source;
  const content = Buffer.concat([await contentOf(source), ...(isEnded ? [] : [endOfImage])]);
  if (isOdd) writeScanParameters(content);
  return content;
}

/** Whether an image says of its colors, at its beginning, what libvips does not read. */
function isMisreadByVips(kind: string, head: Buffer): boolean {
  if (kind === 'heif') return isNotSrgb(heifColourOf(head)) || isPremultiplied(head);
  return kind === 'png' && isNotSrgb(pngColourOf(head));
}

/** Null for an image that libvips shows otherwise than browsers do, or not at all. */
async function openInVips(source: string | Buffer, { failOn }: OpenOptions): Promise<OpenedImage | null> {
  // Only the header is read, so no limit is needed against decompression bombs.
  const metadata = await sharp(source, { limitInputPixels: false }).metadata().catch(decodeProblem);
  const { width, height, pages: frames = 1, space, depth, hasProfile, orientation = 1, autoOrient } = metadata;
  if (width * height > imagePixelsMax) throw tooLarge();
  if (metadata.compression !== undefined && metadata.compression !== 'av1') return null;
  // libvips takes CMYK without a profile for the inks of a certain press.
  if (space === 'cmyk' && !hasProfile) return null;
  const limits = { limitInputPixels: imagePixelsMax, failOn, sequentialRead: true } as const;
  const isFree = metadata.format === 'gif' && leavesCanvasFree(await headOf(source, imageHeadBytes));
  const input = isFree ? withTransparentFrame(await contentOf(source)) : source;
  return {
    ...autoOrient,
    frames,
    read: (which = 'first') => {
      const image = sharp(input, { ...limits, pages: which === 'all' ? frames : 1 });
      const upright = which === 'all' || orientation === 1 ? image : image.autoOrient();
      // Otherwise the profile of an image of 16 bits is left out.
      const inSrgb = depth === 'ushort' && hasProfile ? upright.pipelineColourspace('srgb') : upright;
      return inSrgb.toColourspace('srgb');
    },
  };
}

function tooLarge(): KnownProblem {
  return new KnownProblem('limit_exceeded', `The image has more than ${imagePixelsMax / 1e6} megapixels.`);
}

/** The messages of libjpeg for JPEG-LS, for lossless and hierarchical JPEG, and for samples of 12 bits. */
const unknownJpeg = /unsupported (marker type 0xf7|jpeg process|jpeg data precision)/i;

/** The messages of libjpeg for a file that has all its pixels: about bytes between segments, and odd parameters. */
const harmlessWarnings = [
  /^Corrupt JPEG data: \d+ extraneous bytes/,
  /^Inconsistent progression/,
  /^Unknown Adobe/,
  /unknown JFIF revision/,
  /^Invalid SOS parameters/,
];

/** Whether libvips refused an image for warnings of its decoder alone that lose nothing. */
export function isHarmless(problem: unknown): boolean {
  const cause = problem instanceof KnownProblem && problem.code === 'corrupt_input' ? problem.cause : null;
  if (!(cause instanceof Error)) return false;
  const lines = cause.message.split('\n').map((line) => line.trim().replace(/^VipsJpeg: /, ''));
  return lines.every((line) => line === '' || harmlessWarnings.some((warning) => warning.test(line)));
}

/** Throws the problem of an image of a supported kind that libvips refuses, or has no memory or descriptor for. */
export function decodeProblem(thrown: unknown): never {
  const error = asProblem(thrown);
  if (error instanceof KnownProblem || !(error instanceof Error)) throw error;
  // libheif's, on the number of tiles for one.
  if (/security limit/i.test(error.message)) throw tooLarge();
  if (unknownJpeg.test(error.message)) {
    const message = 'The image is of a kind that is not supported: jpeg in a coding that is not known.';
    throw new KnownProblem('unsupported_media', message, { cause: error });
  }
  throw new KnownProblem('corrupt_input', 'The image is damaged and cannot be decoded.', { cause: error });
}

async function contentOf(source: string | Buffer): Promise<Buffer> {
  return typeof source === 'string' ? readFile(source) : source;
}

async function headOf(source: string | Buffer, length: number): Promise<Buffer> {
  if (typeof source !== 'string') return source.subarray(0, length);
  await using file = await open(source);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, 0);
  return buffer.subarray(0, bytesRead);
}

async function tailOf(source: string | Buffer, length: number): Promise<Buffer> {
  if (typeof source !== 'string') return source.subarray(-length);
  await using file = await open(source);
  const { size } = await file.stat();
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, Math.max(0, size - length));
  return buffer.subarray(0, bytesRead);
}
