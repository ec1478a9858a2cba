import { parentPort, workerData } from 'node:worker_threads';
import {
  ColorProfile,
  ColorSpace,
  ImageMagick,
  type IMagickImage,
  initializeImageMagick,
  MagickFormat,
  MagickImageInfo,
  MagickReadSettings,
  Orientation,
  ResourceLimits,
} from '@imagemagick/magick-wasm';
import { mapToSrgb } from './hdr-pixels.ts';
import { displayP3, heifColourOf } from './heif-colour.ts';
import { imageHeadBytes } from './image-kinds.ts';
import { clearOrientation, readTiffTags } from './tiff-tags.ts';
import type { WasmAnswer, WasmKind, WasmRequest } from './wasm-decoder.ts';

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
} as const satisfies Record<WasmKind, MagickFormat>;

/** A byte for each of red, green, blue, alpha. */
const bytesPerPixel = 4;
/** Copies of the pixels that decoders keep while they work. */
const copiesMax = 4;

function decode({ bytes, kind, pixelsMax, profiles }: WasmRequest): WasmAnswer {
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const tags = kind === 'tiff' ? readTiffTags(source) : null;
  if (tags?.isCameraRaw === true) return { code: 'unsupported_media', what: 'camera raw' };
  if (tags?.isFloat === true) return { code: 'unsupported_media', what: 'tiff with floating-point samples' };
  if (tags !== null) clearOrientation(source, tags);
  const settings = new MagickReadSettings({ format: formats[kind], frameIndex: 0, frameCount: 1 });
  const { width, height } = MagickImageInfo.create(source, settings);
  if (width * height > pixelsMax) return { code: 'limit_exceeded', what: `${width} × ${height}` };
  return ImageMagick.read(source, settings, (image) => {
    if (tags !== null) image.orientation = tags.orientation as Orientation;
    // The other decoders have applied the orientation of their container.
    if (kind === 'tiff' || kind === 'jpeg') image.autoOrient();
    const colour = kind === 'heif' ? heifColourOf(source.subarray(0, imageHeadBytes)) : null;
    // A profile says more than the numbers beside it.
    const hdr = image.getColorProfile() === null && colour !== null && colour.hdr !== null ? colour : null;
    if (hdr === null) toSrgb(image, profiles, colour?.primaries === displayP3);
    image.depth = 8;
    const channels = image.hasAlpha && !(kind === 'bmp' && hasReservedBytes(bytes)) ? 4 : 3;
    const format = channels === 4 ? MagickFormat.Rgba : MagickFormat.Rgb;
    const data = image.write(format, (pixels) => pixels.slice());
    if (hdr !== null) mapToSrgb(data, channels, hdr);
    return { width: image.width, height: image.height, channels, data } as const;
  });
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

/** What ImageMagick (`CompressNotSupported`) and its libraries say of a file whose coding they do not know. */
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
