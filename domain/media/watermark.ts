import { z } from 'zod';
import { evenNear, type FrameSize } from './frame-size.ts';

/*
 * A picture that is laid over every frame of a stream. The profile holds its bytes, so that the digest of a profile decides
 * the output, and a runner needs no further right to read.
 */

/** The task document is one environment variable of at most 128 KiB. */
const bytesMax = 48 * 1024;
const sideMax = 2048;
const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Whether a text is a PNG within the bounds, as far as its header says. */
function isSmallPng(base64: string): boolean {
  if (base64.length > (bytesMax / 3) * 4 || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return false;
  const bytes = Buffer.from(base64, 'base64');
  const isPng = bytes.subarray(0, 8).equals(signature) && bytes.toString('latin1', 12, 16) === 'IHDR';
  if (!isPng || bytes.length < 24) return false;
  return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)].every((side) => side > 0 && side <= sideMax);
}

const pngRule = `must be the base64 of a PNG of at most ${bytesMax / 1024} KiB and ${sideMax} pixels on a side`;

export const watermarkSchema = z.strictObject({
  png: z.string().refine(isSmallPng, pngRule),
  position: z.enum(['top-left', 'top-right', 'bottom-left', 'bottom-right']).default('bottom-right'),
  /** As a share of the width of the picture. */
  width: z.number().min(0.01).max(1).default(0.15),
  /** Of the distance from both edges, as a share of the shorter side. */
  margin: z.number().min(0).max(0.4).default(0.03),
  /** Of what the PNG shows; its own transparency stays. */
  opacity: z.number().min(0.01).max(1).default(1),
});
export type Watermark = z.output<typeof watermarkSchema>;

/** A place in a picture, in even pixels. */
export interface Place extends FrameSize {
  readonly x: number;
  readonly y: number;
}

/** Where an image of the size `image` lies in a picture: as wide as is asked, or as large as fits between the margins. */
export function placeWatermark(
  image: FrameSize,
  picture: FrameSize,
  { position, width: share, margin }: Pick<Watermark, 'position' | 'width' | 'margin'>,
): Place {
  const edge = 2 * Math.round((margin * Math.min(picture.width, picture.height)) / 2);
  const scale = Math.min(
    (share * picture.width) / image.width,
    (picture.width - 2 * edge) / image.width,
    (picture.height - 2 * edge) / image.height,
  );
  const width = Math.min(picture.width, evenNear(image.width * scale));
  const height = Math.min(picture.height, evenNear(image.height * scale));
  return {
    width,
    height,
    x: position.endsWith('left') ? edge : Math.max(0, picture.width - width - edge),
    y: position.startsWith('top') ? edge : Math.max(0, picture.height - height - edge),
  };
}
