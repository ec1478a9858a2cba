// Requests to the image process and its answers: heads of frames (frames.ts), followed by the image.

/** Further operations, done in this order; one that is left out is not done. */
interface ImageOperations {
  readonly rotate?: 90 | 180 | 270;
  /** Margins whose values differ from the first pixel's by at most this are cut off; without `crop`. */
  readonly trim?: number;
  /** The part of the upright and rotated image that is used. */
  readonly crop?: { readonly left: number; readonly top: number; readonly width: number; readonly height: number };
  /** The part of the image that `cover` keeps, by the names of sharp. */
  readonly gravity?: string;
  /** Sigma in pixels of the result. */
  readonly blur?: number;
  readonly sharpen?: number;
  /** The colour, `rrggbb`, of margins and of what is transparent. */
  readonly background?: string;
}

/** Sizes in pixels; null follows from the other by the aspect ratio. */
export interface ImageWork {
  readonly width: number | null;
  readonly height: number | null;
  readonly fit: 'cover' | 'contain' | 'inside';
  readonly format: 'webp' | 'jpg' | 'png' | 'avif';
  /** 1–100. */
  readonly quality: number;
  readonly operations: ImageOperations;
}

/** Why an image was not made: others may fare better, the source is no image to show, or an operation does not fit it. */
export type ImageRefusal =
  | { readonly kind: 'busy' | 'unreadable'; readonly why: string }
  | { readonly kind: 'unfit'; readonly why: string; readonly operation: keyof ImageOperations };

/** The source follows it. */
export interface ImageRequest {
  readonly id: number;
  readonly work: ImageWork;
}

/**
 * The image follows it; nothing when it was refused: the source, an operation of it, or since too many wait for the same
 * decoder or the machine has no memory or descriptor for it.
 */
export interface ImageAnswer {
  readonly id: number;
  readonly refused: ImageRefusal | null;
}

/** The descriptor of the pipe, in the image process. */
export const imagePipe = 3;
