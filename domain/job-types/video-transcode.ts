import { z } from 'zod';
import { jobType } from './job-type.ts';
import { objectKeySchema, sourceFoundSchema, warningsSchema } from './shared-results.ts';

export const videoTranscodeOptions = z.strictObject({
  encrypt: z.boolean().default(false),
});

/** Bitrates in bits a second, sizes in pixels. */
const audioTrackSchema = z.object({
  id: z.string().regex(/^audio_[A-Za-z0-9-]+_[a-z0-9]+_\d+ch(_\d+)?$/),
  role: z.string(),
  language: z.string(),
  codec: z.string(),
  channels: z.int().positive(),
  bitrate: z.int().positive(),
  playlist: objectKeySchema,
  init: objectKeySchema,
  segment_count: z.int().positive(),
});

const videoTrackSchema = z.object({
  id: z.string().regex(/^r\d+_[a-z0-9]+$/),
  codec: z.string(),
  width: z.int().positive(),
  height: z.int().positive(),
  bitrate: z.int().positive(),
  playlist: objectKeySchema,
  init: objectKeySchema,
  segment_count: z.int().positive(),
  audio_track_ids: z.array(z.string()),
});

/** C2.30 to C2.36; `encryption` is there for encrypted output only. */
export const videoTranscodeResults = z.object({
  streaming: z.object({
    protocol: z.literal('hls'),
    container: z.literal('cmaf'),
    encrypted: z.boolean(),
    /** `videos/<prefix>/<hash>/master.m3u8`, written by the controller when the revision is published. */
    master_playlist: objectKeySchema,
    /** Null for a source without audio. */
    default_audio_track_id: z.string().nullable(),
  }),
  audio_tracks: z.array(audioTrackSchema),
  video_tracks: z.array(videoTrackSchema).min(1),
  encryption: z
    .object({ scheme: z.literal('cbcs'), kid: z.string().regex(/^[0-9a-f]{32}$/), key_endpoint: z.url() })
    .optional(),
  source: sourceFoundSchema,
  warnings: warningsSchema,
});
export type VideoTranscodeResults = z.infer<typeof videoTranscodeResults>;

/** Produces an HLS stream (CMAF) from a video, optionally encrypted. */
export const videoTranscode = jobType({
  options: videoTranscodeOptions,
  results: videoTranscodeResults,
  hasPreflight: true,
  completedProgress: 95,
  needsContentKey: ({ encrypt }) => encrypt,
});
