import { parentPort, workerData } from 'node:worker_threads';
import {
  ColorProfile,
  ColorSpace,
  type IMagickImage,
  initializeImageMagick,
  MagickFormat,
  MagickImageCollection,
  MagickImageInfo,
  MagickReadSettings,
  Orientation,
  ResourceLimits,
} from '@imagemagick/magick-wasm';
import { mapToSrgb } from './hdr-pixels.ts';
import { heifColourOf, isPremultiplied } from './heif-colour.ts';
import { imageHeadBytes } from './image-kinds.ts';
import { jxlOrientationOf } from './jxl-orientation.ts';
import { displayP3, type NumberedColour } from './numbered-colour.ts';
import { pngColourOf } from './png-colour.ts';
import { clearNextPage, clearOrientation, readTiffTags, type TiffTags } from './tiff-tags.ts';
import type { ImageDamage, WasmAnswer, WasmKind, WasmRequest } from './wasm-decoder.ts';

/** The thread that decodes one image in WebAssembly: it holds no more than the image, and ends with it. */

/** The decoder is named, since ImageMagick would otherwise choose among its hundred by the content. */
const formats = {
  tiff: MagickFormat.Tiff,
  bmp: MagickFormat.Bmp,
  jp2: MagickFormat.Jp2,
  j2k: MagickFormat.J2k,
  jxl: MagickFormat.Jxl,
  heif: MagickFormat.Heic,
  jpeg: MagickFormat.Jpeg,
  png: MagickFormat.Png,
} as const satisfies Record<WasmKind, MagickFormat>;

/** A byte for each of red, green, blue, alpha. */
const bytesPerPixel = 4;
/** Copies of the pixels that decoders keep while they work. */
const copiesMax = 4;

function decode(request: WasmRequest): WasmAnswer {
  const { bytes, kind } = request;
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const tags = kind === 'tiff' ? readTiffTags(source) : null;
  if (tags?.isCameraRaw === true) return { code: 'unsupported_media', what: 'camera raw' };
  if (tags?.isFloat === true) return { code: 'unsupported_media', what: 'tiff with floating-point samples' };
  if (tags === null) return decodeFirst(source, null, request);
  clearOrientation(source, tags);
  try {
    return decodeFirst(source, tags, request);
  } catch (error) {
    // The decoder looks for the next page first, and fails where that is damaged.
    if (!clearNextPage(source, tags)) throw error;
    const answer = decodeFirst(source, tags, request);
    return 'data' in answer ? { damage: 'pages', ...answer } : answer;
  }
}

/** Decodes the first image of a file. @throws what ImageMagick says of a damaged one */
function decodeFirst(source: Buffer, tags: TiffTags | null, { kind, pixelsMax, profiles }: WasmRequest): WasmAnswer {
  const settings = new MagickReadSettings({ format: formats[kind], frameIndex: 0, frameCount: 1 });
  const { width, height } = MagickImageInfo.create(source, settings);
  if (width * height > pixelsMax) return { code: 'limit_exceeded', what: `${width} × ${height}` };
  const { image, damage } = readFirst(source, settings, kind);
  const orientation = tags?.orientation ?? (kind === 'jxl' ? jxlOrientationOf(source)?.orientation : undefined);
  if (orientation !== undefined) image.orientation = orientation as Orientation;
  // The other decoders have applied the orientation of their container.
  if (orientation !== undefined || kind === 'jpeg') image.autoOrient();
  const colour = colourOf(source, kind);
  // A profile says more than the numbers beside it, except in a PNG.
  const countsNumbers = kind === 'png' || image.getColorProfile() === null;
  const hdr = countsNumbers && colour !== null && colour.hdr !== null ? colour : null;
  if (hdr === null) toSrgb(image, profiles, colour?.primaries === displayP3);
  image.depth = 8;
  const channels = image.hasAlpha && !(kind === 'bmp' && hasReservedBytes(source)) ? 4 : 3;
  const data = pixelsOf(image, channels);
  if (channels === 4 && kind === 'heif' && isPremultiplied(source.subarray(0, imageHeadBytes))) divideByOpacity(data);
  if (hdr !== null) mapToSrgb(data, channels, hdr);
  return { width: image.width, height: image.height, channels, data, ...(damage === null ? {} : { damage }) };
}

function pixelsOf(image: IMagickImage, channels: 3 | 4): Uint8Array {
  return image.write(channels === 4 ? MagickFormat.Rgba : MagickFormat.Rgb, (pixels) => pixels.slice());
}

/** Gives pixels whose colors are multiplied by their opacity the colors themselves. */
function divideByOpacity(data: Uint8Array): void {
  for (let at = 0; at + 3 < data.length; at += bytesPerPixel) {
    const opacity = data[at + 3] ?? 0;
    if (opacity === 0) continue;
    for (let channel = at; channel < at + 3; channel += 1)
      data[channel] = Math.min(255, Math.round(((data[channel] ?? 0) * 255) / opacity));
  }
}

function colourOf(source: Buffer, kind: WasmKind): NumberedColour | null {
  const head = source.subarray(0, imageHeadBytes);
  if (kind === 'heif') return heifColourOf(head);
  return kind === 'png' ? pngColourOf(head) : null;
}

/** An image of which more of the rows at its end are missing is damaged. */
const missingRowsShareMax = 0.05;

/** A TIFF whose last rows cannot be read is shown without them: the decoder stops there. */
function readFirst(
  source: Buffer,
  settings: MagickReadSettings,
  kind: WasmKind,
): { readonly image: IMagickImage; readonly damage: ImageDamage | null } {
  const images = MagickImageCollection.create();
  try {
    images.read(source, settings);
  } catch (error) {
    const [image] = images;
    if (kind !== 'tiff' || image === undefined || missingRows(image) > image.height * missingRowsShareMax) throw error;
    return { image, damage: 'rows' };
  }
  const [image] = images;
  if (image === undefined) throw new Error('the file has no image');
  return { image, damage: null };
}

/** The rows at the end of an image in which every number is 0, as where nothing was read. */
function missingRows(image: IMagickImage): number {
  const pixels = pixelsOf(image, 4);
  const isEmpty = (at: number) => pixels[at] === 0 && pixels[at + 1] === 0 && pixels[at + 2] === 0;
  let end = pixels.length - 4;
  while (end >= 0 && isEmpty(end)) end -= 4;
  return image.height - Math.ceil((end + 4) / 4 / image.width);
}

/** Whether the fourth byte of a pixel is reserved: a header of 40 bytes without masks (BI_RGB) has no opacity. */
function hasReservedBytes(bytes: Uint8Array): boolean {
  const header = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return header.getUint32(14, true) <= 40 && header.getUint32(30, true) === 0;
}

/** By the profile of the image; CMYK without one by its plain complement, as browsers do. */
function toSrgb(image: IMagickImage, profiles: WasmRequest['profiles'], isP3: boolean): void {
  const srgb = new ColorProfile(profiles.srgb);
  if (image.getColorProfile() !== null) image.transformColorSpace(srgb);
  else if (isP3) image.transformColorSpace(new ColorProfile(profiles.p3), srgb);
  if (image.colorSpace !== ColorSpace.sRGB) image.colorSpace = ColorSpace.sRGB;
}

/** The messages of ImageMagick (`CompressNotSupported`) and its libraries for a file whose coding they do not know. */
const unknownCoding = /unsupported|not ?supported|no decod|not implemented|not configured/i;
/** As ImageMagick's codes (`CacheResourcesExhausted`) and as its libraries write it. */
const overLimit =
  /exceeds ?limit|security limit|limit ?exceeded|resources ?exhausted|memory ?allocation|resource ?limit/i;

function answerOf(error: unknown): WasmAnswer {
  const message = error instanceof Error ? error.message : String(error);
  if (overLimit.test(message)) return { code: 'limit_exceeded', what: message };
  return { code: unknownCoding.test(message) ? 'unsupported_media' : 'corrupt_input', what: message };
}

if (parentPort !== null) {
  const request = workerData as WasmRequest;
  await initializeImageMagick(request.module);
  const side = BigInt(65_535);
  ResourceLimits.width = side;
  ResourceLimits.height = side;
  ResourceLimits.disk = 0n;
  ResourceLimits.memory = BigInt(request.pixelsMax * bytesPerPixel * copiesMax);
  ResourceLimits.maxMemoryRequest = BigInt(request.pixelsMax * bytesPerPixel * copiesMax);
  let answer: WasmAnswer;
  try {
    answer = decode(request);
  } catch (error) {
    answer = answerOf(error);
  }
  parentPort.postMessage(answer, 'data' in answer ? [answer.data.buffer as ArrayBuffer] : []);
}
