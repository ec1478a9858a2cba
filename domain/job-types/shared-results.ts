import { z } from 'zod';

/** The key of an object in the media bucket: a storage key, not a public URL (C2.49). */
export const objectKeySchema = z.string().min(1).max(1024);

/** Something worth knowing that failed nothing. `code` is stable, snake_case; `message` is for people. */
export const warningSchema = z.object({ code: z.string().regex(/^[a-z][a-z0-9_]*$/), message: z.string() });
export type Warning = z.infer<typeof warningSchema>;
export const warningsSchema = z.array(warningSchema);

/** What a page shows until an image is there (C2.60): a BlurHash, and the colour that most pixels have, as `#rrggbb`. */
export const placeholderSchema = z.object({
  blurhash: z.string().regex(/^[!-~]{6,98}$/),
  dominant_color: z.string().regex(/^#[0-9a-f]{6}$/),
});
export type Placeholder = z.infer<typeof placeholderSchema>;

/** What was found in a video source (C2.35). Sizes in bytes and pixels, times in seconds. */
export const sourceFoundSchema = z.object({
  container: z.string(),
  size: z.int().nonnegative(),
  duration_sec: z.number().nonnegative(),
  /** Null for an audio-only source (C2.69). */
  video: z
    .object({
      codec: z.string(),
      /** As shown: after rotation and with square pixels. */
      width: z.int().positive(),
      height: z.int().positive(),
      frame_rate: z.number().positive(),
      /** Degrees clockwise that were applied: 0, 90, 180 or 270. */
      rotation: z.int(),
      hdr: z.enum(['none', 'pq', 'hlg', 'dolby_vision']),
      pixel_format: z.string(),
      interlaced: z.boolean(),
    })
    .nullable(),
  audio: z.array(
    z.object({
      codec: z.string(),
      channels: z.int().positive(),
      sample_rate: z.int().positive(),
      language: z.string(),
    }),
  ),
});
export type SourceFound = z.infer<typeof sourceFoundSchema>;
