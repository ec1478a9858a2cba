/** What the image process is asked for, and what it answers: heads of frames (frames.ts), with the picture behind. */

/** Sizes in pixels; null follows from the other by the picture's shape. */
export interface ImageWork {
  readonly width: number | null;
  readonly height: number | null;
  readonly fit: 'cover' | 'contain' | 'inside';
  readonly format: 'webp' | 'jpg' | 'png' | 'avif';
  /** 1–100. */
  readonly quality: number;
}

/** Behind it comes the source. */
export interface ImageRequest {
  readonly id: number;
  readonly work: ImageWork;
}

/** Behind it comes what was made; nothing when the source is no image that is read here, or is over a limit. */
export interface ImageAnswer {
  readonly id: number;
  readonly refused: string | null;
}

/** The descriptor of the pipe, in the image process. */
export const imagePipe = 3;
