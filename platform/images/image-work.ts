// Requests to the image process and its answers: heads of frames (frames.ts), followed by the image.

/** Sizes in pixels; null follows from the other by the aspect ratio. */
export interface ImageWork {
  readonly width: number | null;
  readonly height: number | null;
  readonly fit: 'cover' | 'contain' | 'inside';
  readonly format: 'webp' | 'jpg' | 'png' | 'avif';
  /** 1–100. */
  readonly quality: number;
}

/** The source follows it. */
export interface ImageRequest {
  readonly id: number;
  readonly work: ImageWork;
}

/**
 * The image follows it; nothing when the source was refused, too many wait for the same decoder, or the machine has no
 * memory or descriptor for it.
 */
export interface ImageAnswer {
  readonly id: number;
  readonly refused: { readonly why: string; readonly isBusy: boolean } | null;
}

/** The descriptor of the pipe, in the image process. */
export const imagePipe = 3;
