import { z } from 'zod';
import { languageLengthMax } from '../media/languages.ts';
import { boundedList, boundedText } from '../text.ts';

/** The key of an object in the media bucket: a storage key, not a public URL (C27.3). */
export const objectKeySchema = z.string().min(1).max(1024);

/** Something worth knowing that failed nothing. `code` is stable, snake_case; `message` is for people. */
export const warningSchema = z.object({
  code: z
    .string()
    .max(64)
    .regex(/^[a-z][a-z0-9_]*$/),
  message: boundedText(1000),
});
export type Warning = z.infer<typeof warningSchema>;
/** Of a result; more are left out. */
export const warningsSchema = boundedList(warningSchema, 50);

/** Formats of an animated preview. */
export const previewFormats = ['webp', 'gif'] as const;

/**
 * What a page shows until an image is there (C15.4): a BlurHash, and the colour that most pixels have, as `#rrggbb`.
 */
export const placeholderSchema = z.object({
  blurhash: z.string().regex(/^[!-~]{6,98}$/),
  dominant_color: z.string().regex(/^#[0-9a-f]{6}$/),
});
export type Placeholder = z.infer<typeof placeholderSchema>;

/** A name that ffmpeg gives to a container, codec or format. */
const nameSchema = boundedText(64);
/** An RFC 5646 tag. */
export const languageSchema = boundedText(languageLengthMax);

/** What was found in a video source (C14.7). Sizes in bytes and pixels, times in seconds. */
export const sourceFoundSchema = z.object({
  container: nameSchema,
  size: z.int().nonnegative(),
  duration_sec: z.number().nonnegative(),
  /** Null for an audio-only source (C14.10). */
  video: z
    .object({
      codec: nameSchema,
      /** As shown: after rotation and with square pixels. */
      width: z.int().positive(),
      height: z.int().positive(),
      frame_rate: z.number().positive(),
      /** Degrees clockwise that were applied: 0, 90, 180 or 270. */
      rotation: z.int(),
      hdr: z.enum(['none', 'pq', 'hlg', 'dolby_vision']),
      pixel_format: nameSchema,
      interlaced: z.boolean(),
    })
    .nullable(),
  audio: boundedList(
    z.object({
      codec: nameSchema,
      channels: z.int().positive(),
      sample_rate: z.int().positive(),
      language: languageSchema,
    }),
    64,
  ),
});
export type SourceFound = z.infer<typeof sourceFoundSchema>;
