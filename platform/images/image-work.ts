/** What the image process is asked for, and what it answers: messages over its IPC channel, buffers as they are. */

/** Sizes in pixels; null follows from the other by the picture's shape. */
export interface ImageWork {
  readonly width: number | null;
  readonly height: number | null;
  readonly fit: 'cover' | 'contain' | 'inside';
  readonly format: 'webp' | 'jpg' | 'png' | 'avif';
  /** 1–100. */
  readonly quality: number;
}

export interface ImageRequest {
  readonly id: number;
  readonly source: Uint8Array;
  readonly work: ImageWork;
}

export type ImageAnswer =
  | { readonly id: number; readonly bytes: Uint8Array }
  /** The source is no image that is read here, or is over a limit. */
  | { readonly id: number; readonly refused: string };
