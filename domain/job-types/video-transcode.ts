import { z } from 'zod';
import { chaptersMax, chapterTitleMax } from '../media/chapters.ts';
import { rungQualitySchema } from '../media/quality.ts';
import { subtitleTracksMax } from '../media/subtitle-plan.ts';
import { trackNameMax } from '../media/track-names.ts';
import { boundedList, boundedText } from '../text.ts';
import { jobType } from './job-type.ts';
import { languageSchema, objectKeySchema, sourceFoundSchema, warningsSchema } from './shared-results.ts';

export const videoTranscodeOptions = z.strictObject({
  encrypt: z.boolean().default(false).describe('Whether the stream is encrypted.'),
});

/** Loudness of a whole track (EBU R 128): in LUFS, LU, and dB below full scale between the samples. */
export const loudnessSchema = z.object({
  integrated_lufs: z.number(),
  range_lu: z.number().nonnegative(),
  true_peak_dbtp: z.number(),
});
export type Loudness = z.infer<typeof loudnessSchema>;

/** `audio_<language>_<codec>_<channels>ch_<number>` with the longest language. */
export const trackIdSchema = z.string().max(64);
const codecSchema = z.string().max(32);
/** As many as a profile may have: rungs, and tracks as stereo and 5.1. */
export const videoTracksMax = 16;
export const audioTracksMax = 16;

/** Bitrates in bits a second, sizes in pixels. */
const audioTrackSchema = z.object({
  id: trackIdSchema.regex(/^audio_[A-Za-z0-9-]+_[a-z0-9]+_\d+ch(_\d+)?$/),
  role: z.string().max(32),
  language: languageSchema,
  codec: codecSchema,
  channels: z.int().positive(),
  bitrate: z.int().positive(),
  playlist: objectKeySchema,
  init: objectKeySchema,
  segment_count: z.int().positive(),
  /** Null for silence; absent in results from before it was measured. */
  loudness: loudnessSchema.nullable().optional(),
});

const videoTrackSchema = z.object({
  id: trackIdSchema.regex(/^r\d+_[a-z0-9]+$/),
  codec: codecSchema,
  /** Absent in results from before HDR could be kept, when every track was SDR. */
  hdr: z.enum(['none', 'pq', 'hlg']).optional(),
  width: z.int().positive(),
  height: z.int().positive(),
  bitrate: z.int().positive(),
  playlist: objectKeySchema,
  init: objectKeySchema,
  segment_count: z.int().positive(),
  /** Where the profile wants it measured (C16.12): the score of samples of the source, encoded with `crf`. */
  quality: rungQualitySchema.optional(),
  audio_track_ids: z.array(trackIdSchema).max(audioTracksMax),
});

/** A subtitle track as WebVTT (C14.13). */
const textTrackSchema = z.object({
  id: trackIdSchema.regex(/^text_[A-Za-z0-9-]+(_\d+)?$/),
  codec: z.literal('webvtt'),
  language: languageSchema,
  name: boundedText(trackNameMax),
  forced: z.boolean(),
  hearing_impaired: z.boolean(),
  playlist: objectKeySchema,
  segment_count: z.int().positive(),
});

/** C14.1 to C14.8; `encryption` is there for encrypted output only. */
export const videoTranscodeResults = z.object({
  streaming: z.object({
    protocol: z.literal('hls'),
    container: z.literal('cmaf'),
    encrypted: z.boolean(),
    /** `videos/<prefix>/<hash>/master.m3u8`, written by the controller when the revision is published. */
    master_playlist: objectKeySchema,
    /** The same of this revision, which never changes; absent in results from before it was named. */
    revision_playlist: objectKeySchema.optional(),
    /** The DASH manifest of the same segments; absent in results from before it was named. */
    dash_manifest: objectKeySchema.optional(),
    /** Null for a source without audio. */
    default_audio_track_id: trackIdSchema.nullable(),
  }),
  audio_tracks: z.array(audioTrackSchema).max(audioTracksMax),
  /** Empty for an audio-only source (C14.10). */
  video_tracks: z.array(videoTrackSchema).max(videoTracksMax),
  /** Absent in results from before subtitles were made. */
  text_tracks: z.array(textTrackSchema).max(subtitleTracksMax).optional(),
  /** Small images for seeking: an image playlist, and the same as WebVTT cues. */
  storyboard: z.object({ playlist: objectKeySchema, cues: objectKeySchema }).optional(),
  /** An image of the audio of an audio-only source, in pixels and bytes. */
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
      list: boundedList(
        z.object({
          start_sec: z.number().nonnegative(),
          end_sec: z.number().nonnegative(),
          title: boundedText(chapterTitleMax),
        }),
        chaptersMax,
      ),
    })
    .optional(),
  encryption: z
    .object({ scheme: z.literal('cbcs'), kid: z.string().regex(/^[0-9a-f]{32}$/), key_endpoint: z.url().max(2048) })
    .optional(),
  source: sourceFoundSchema,
  warnings: warningsSchema,
});
export type VideoTranscodeResults = z.infer<typeof videoTranscodeResults>;

/** Produces an HLS stream (CMAF) from a video, optionally encrypted. */
export const videoTranscode = jobType({
  options: videoTranscodeOptions,
  results: videoTranscodeResults,
  preflight: 'video',
  makesStream: true,
  firstUnit: 'split',
  completedProgress: 95,
  needsContentKey: ({ encrypt }) => encrypt,
});
