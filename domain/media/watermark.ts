import { z } from 'zod';
import { evenNear, type FrameSize } from './frame-size.ts';

/*
 * An image that is laid over every frame of a stream. The profile contains its bytes, so that the profile's digest
 * decides the output and a runner needs no right to read it.
 */

/** The task document is one environment variable of at most 128 KiB. */
const bytesMax = 48 * 1024;
const base64Max = (bytesMax / 3) * 4;
const sideMax = 2048;
const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Whether a text is a PNG of permitted size in pixels, as far as its header says. */
function isSmallPng(base64: string): boolean {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return false;
  const bytes = Buffer.from(base64, 'base64');
  const isPng = bytes.subarray(0, 8).equals(signature) && bytes.toString('latin1', 12, 16) === 'IHDR';
  if (!isPng || bytes.length < 24) return false;
  return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)].every((side) => side > 0 && side <= sideMax);
}

const pngRule = `must be the base64 of a PNG of at most ${bytesMax / 1024} KiB and ${sideMax} pixels on a side`;

export const watermarkSchema = z.strictObject({
  png: z
    .string()
    .max(base64Max, { error: pngRule, abort: true })
    .refine(isSmallPng, pngRule)
    .describe('The image: base64 of a PNG.'),
  position: z
    .enum(['top-left', 'top-right', 'bottom-left', 'bottom-right'])
    .default('bottom-right')
    .describe('The corner of the frame.'),
  width: z.number().min(0.01).max(1).default(0.15).describe('As a share of the width of the frame.'),
  margin: z
    .number()
    .min(0)
    .max(0.4)
    .default(0.03)
    .describe('Of the distance from both edges, as a share of the shorter side.'),
  opacity: z.number().min(0.01).max(1).default(1).describe('Of what the PNG shows; its own transparency stays.'),
});
export type Watermark = z.output<typeof watermarkSchema>;

/** A place in a frame, in even pixels. */
export interface Place extends FrameSize {
  readonly x: number;
  readonly y: number;
}

/** Where an image of the size `image` lies in a frame: as wide as is asked, or as large as fits between the margins. */
export function placeWatermark(
  image: FrameSize,
  frame: FrameSize,
  { position, width: share, margin }: Pick<Watermark, 'position' | 'width' | 'margin'>,
): Place {
  const edge = 2 * Math.round((margin * Math.min(frame.width, frame.height)) / 2);
  const scale = Math.min(
    (share * frame.width) / image.width,
    (frame.width - 2 * edge) / image.width,
    (frame.height - 2 * edge) / image.height,
  );
  const width = Math.min(frame.width, evenNear(image.width * scale));
  const height = Math.min(frame.height, evenNear(image.height * scale));
  return {
    width,
    height,
    x: position.endsWith('left') ? edge : Math.max(0, frame.width - width - edge),
    y: position.startsWith('top') ? edge : Math.max(0, frame.height - height - edge),
  };
}
