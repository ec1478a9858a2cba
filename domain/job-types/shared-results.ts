import { z } from 'zod';
import { languageLengthMax } from '../media/languages.ts';
import { boundedList, boundedText } from '../text.ts';

/** The key of an object in the media bucket: a storage key, not a public URL (C27.3). */
export const objectKeySchema = z
  .string()
  .min(1)
  .max(1024)
  .describe('The key of the object in the media bucket, not an address.');

/** Something worth knowing that failed nothing. `code` is stable, snake_case; `message` is for people. */
export const warningSchema = z.object({
  code: z
    .string()
    .max(64)
    .regex(/^[a-z][a-z0-9_]*$/)
    .describe('What is worth knowing, one word for programs.'),
  message: boundedText(1000).describe('The same for people.'),
});
export type Warning = z.infer<typeof warningSchema>;
/** The warnings of a result; more are left out. */
export const warningsSchema = boundedList(warningSchema, 50).describe('What is worth knowing and failed nothing.');

/** Fields of files and images. */
export const sizeField = z.int().positive().describe('The size of the file in bytes.');
export const widthField = z.int().positive().describe('The width in pixels.');
export const heightField = z.int().positive().describe('The height in pixels.');

/** Formats of an animated preview. */
export const previewFormats = ['webp', 'gif'] as const;

/** The placeholder that a page shows until an image is there (C15.4). */
export const placeholderSchema = z.object({
  blurhash: z
    .string()
    .regex(/^[!-~]{6,98}$/)
    .describe('The BlurHash of the image, to be shown until it is there.')
    .meta({ examples: ['LEHV6nWB2yk8pyo0adR*.7kCMdnj'] }),
  dominant_color: z
    .string()
    .regex(/^#[0-9a-f]{6}$/)
    .describe('The colour that most pixels have, as `#rrggbb`.')
    .meta({ examples: ['#3a6ea5'] }),
});
export type Placeholder = z.infer<typeof placeholderSchema>;

/** A name that ffmpeg gives to a container, codec or format. */
const nameSchema = boundedText(64);
export const languageSchema = boundedText(languageLengthMax)
  .describe('The language, an RFC 5646 tag.')
  .meta({ examples: ['en'] });

/** The description of a video source, as it was found (C14.7). */
export const sourceFoundSchema = z.object({
  container: nameSchema.describe('The container.').meta({ examples: ['mov'] }),
  size: z.int().nonnegative().describe('The size of the file in bytes.'),
  duration_sec: z.number().nonnegative().describe('The duration in seconds.'),
  video: z
    .object({
      codec: nameSchema.describe('The codec.').meta({ examples: ['h264'] }),
      width: widthField.describe('The width in pixels as shown: after rotation and with square pixels.'),
      height: heightField.describe('The height in pixels as shown.'),
      frame_rate: z
        .number()
        .positive()
        .describe('Frames a second.')
        .meta({ examples: [25] }),
      rotation: z.int().describe('Degrees clockwise that were applied: 0, 90, 180 or 270.'),
      hdr: z.enum(['none', 'pq', 'hlg', 'dolby_vision']).describe('The kind of HDR.'),
      pixel_format: nameSchema.describe('The pixel format in the words of ffmpeg.').meta({ examples: ['yuv420p'] }),
      interlaced: z.boolean().describe('Whether its frames are interlaced.'),
    })
    .nullable()
    .describe('The video; null for an audio-only source.'),
  audio: boundedList(
    z.object({
      codec: nameSchema.describe('The codec.').meta({ examples: ['aac'] }),
      channels: z
        .int()
        .positive()
        .describe('How many channels it has.')
        .meta({ examples: [2] }),
      sample_rate: z
        .int()
        .positive()
        .describe('Samples a second.')
        .meta({ examples: [48_000] }),
      language: languageSchema,
    }),
    64,
  ).describe('The audio tracks.'),
});
export type SourceFound = z.infer<typeof sourceFoundSchema>;
