/** Pixels, as shown: after rotation and with square pixels. */
export interface FrameSize {
  readonly width: number;
  readonly height: number;
}

/** Slightly more pixels than a frame of 8K DCI (8192 × 4320); a larger frame is a decompression bomb. */
export const framePixelsMax = 36_000_000;
/** Pixels on a side of a frame. */
export const frameSideMax = 16_384;

/** A pixel aspect further from square than this is an error of the file. */
const aspectMax = 10;

/** `value` rounded down to an even number, at least 2: 4:2:0 has half as many colour samples. */
export function evenDown(value: number): number {
  return Math.max(2, Math.floor(value / 2) * 2);
}

/** `value` rounded to the nearest even number, at least 2. */
export function evenNear(value: number): number {
  return Math.max(2, Math.round(value / 2) * 2);
}

interface CodedFrame extends FrameSize {
  /** Width of a pixel over its height; 1 when it is square or unknown. */
  readonly sampleAspect: number;
  /** Degrees clockwise that a player turns the frame: 0, 90, 180 or 270. */
  readonly rotation: number;
}

/**
 * The size at which a coded frame is shown. The shorter pixel side grows, so that no detail is lost, as far as a frame
 * may.
 */
export function displaySizeOf({ width, height, sampleAspect, rotation }: CodedFrame): FrameSize {
  const isSane = sampleAspect > 1 / aspectMax && sampleAspect < aspectMax;
  const aspect = isSane ? sampleAspect : 1;
  const grown = { width: width * Math.max(1, aspect), height: height / Math.min(1, aspect) };
  const scale = Math.min(
    1,
    frameSideMax / Math.max(grown.width, grown.height),
    Math.sqrt(framePixelsMax / (grown.width * grown.height)),
  );
  const square = { width: Math.round(grown.width * scale), height: Math.round(grown.height * scale) };
  return rotation % 180 === 0 ? square : { width: square.height, height: square.width };
}
