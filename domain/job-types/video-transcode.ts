import { z } from 'zod';
import { rungQualitySchema } from '../media/quality.ts';
import { jobType } from './job-type.ts';
import { objectKeySchema, sourceFoundSchema, warningsSchema } from './shared-results.ts';

export const videoTranscodeOptions = z.strictObject({
  encrypt: z.boolean().default(false),
});

/** Loudness of a whole track (EBU R 128): in LUFS, LU, and dB below full scale between the samples. */
export const loudnessSchema = z.object({
  integrated_lufs: z.number(),
  range_lu: z.number().nonnegative(),
  true_peak_dbtp: z.number(),
});
export type Loudness = z.infer<typeof loudnessSchema>;

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
  /** Null for silence; absent in results from before it was measured. */
  loudness: loudnessSchema.nullable().optional(),
});

const videoTrackSchema = z.object({
  id: z.string().regex(/^r\d+_[a-z0-9]+$/),
  codec: z.string(),
  /** Absent in results from before HDR could be kept, when every track was SDR. */
  hdr: z.enum(['none', 'pq', 'hlg']).optional(),
  width: z.int().positive(),
  height: z.int().positive(),
  bitrate: z.int().positive(),
  playlist: objectKeySchema,
  init: objectKeySchema,
  segment_count: z.int().positive(),
  /** Where the profile wants it measured (C2.72): the score of samples of the source, encoded with `crf`. */
  quality: rungQualitySchema.optional(),
  audio_track_ids: z.array(z.string()),
});

/** A subtitle track as WebVTT (C2.62). */
const textTrackSchema = z.object({
  id: z.string().regex(/^text_[A-Za-z0-9-]+(_\d+)?$/),
  codec: z.literal('webvtt'),
  language: z.string(),
  name: z.string(),
  forced: z.boolean(),
  hearing_impaired: z.boolean(),
  playlist: objectKeySchema,
  segment_count: z.int().positive(),
});

/** C2.30 to C2.36; `encryption` is there for encrypted output only. */
export const videoTranscodeResults = z.object({
  streaming: z.object({
    protocol: z.literal('hls'),
    container: z.literal('cmaf'),
    encrypted: z.boolean(),
    /** `videos/<prefix>/<hash>/master.m3u8`, written by the controller when the revision is published. */
    master_playlist: objectKeySchema,
    /** The DASH manifest of the same segments; absent in results from before it was named. */
    dash_manifest: objectKeySchema.optional(),
    /** Null for a source without audio. */
    default_audio_track_id: z.string().nullable(),
  }),
  audio_tracks: z.array(audioTrackSchema),
  /** Empty for an audio-only source (C2.69). */
  video_tracks: z.array(videoTrackSchema),
  /** Absent in results from before subtitles were made. */
  text_tracks: z.array(textTrackSchema).optional(),
  /** Small pictures for seeking: an image playlist, and the same as WebVTT cues. */
  storyboard: z.object({ playlist: objectKeySchema, cues: objectKeySchema }).optional(),
  /** A picture of the sound of an audio-only source, in pixels and bytes. */
  waveform: z
    .object({
      key: objectKeySchema,
      format: z.literal('webp'),
      width: z.int().positive(),
      height: z.int().positive(),
      size: z.int().positive(),
    })
    .optional(),
  /** Of a source that has them: by time, and the same as WebVTT cues. */
  chapters: z
    .object({
      cues: objectKeySchema,
      list: z.array(
        z.object({ start_sec: z.number().nonnegative(), end_sec: z.number().nonnegative(), title: z.string() }),
      ),
    })
    .optional(),
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
  makesStream: true,
  hasChunks: true,
  completedProgress: 95,
  needsContentKey: ({ encrypt }) => encrypt,
});
