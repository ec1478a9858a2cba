import { z } from 'zod';
import { chaptersMax, chapterTitleMax } from '../media/chapters.ts';
import { rungQualitySchema } from '../media/quality.ts';
import { subtitleTracksMax } from '../media/subtitle-plan.ts';
import { trackNameMax } from '../media/track-names.ts';
import { boundedList, boundedText } from '../text.ts';
import { jobType } from './job-type.ts';
import {
  heightField,
  languageSchema,
  objectKeySchema,
  sizeField,
  sourceFoundSchema,
  warningsSchema,
  widthField,
} from './shared-results.ts';

export const videoTranscodeOptions = z.strictObject({
  encrypt: z.boolean().default(false).describe('Whether the stream is encrypted.'),
});

/** Loudness of a whole track (EBU R 128). */
export const loudnessSchema = z.object({
  integrated_lufs: z
    .number()
    .describe('The loudness in LUFS.')
    .meta({ examples: [-23.1] }),
  range_lu: z
    .number()
    .nonnegative()
    .describe('The loudness range in LU.')
    .meta({ examples: [6.4] }),
  true_peak_dbtp: z
    .number()
    .describe('The true peak, in dB below full scale between the samples.')
    .meta({ examples: [-1.2] }),
});
export type Loudness = z.infer<typeof loudnessSchema>;

/** `audio_<language>_<codec>_<channels>ch_<number>` with the longest language. */
export const trackIdSchema = z.string().max(64);
const codecSchema = z.string().max(32).describe('The codec.');
const bitrateField = z.int().positive().describe('The bitrate in bits a second.');
const playlistField = objectKeySchema.describe('The key of its HLS playlist.');
const initField = objectKeySchema.describe('The key of its init segment.');
const segmentsField = z.int().positive().describe('How many segments it has.');
const cuesField = objectKeySchema.describe('The key of the same as WebVTT cues.');
/** As many as a profile may have: rungs, and tracks as stereo and 5.1. */
export const videoTracksMax = 16;
export const audioTracksMax = 16;

const audioTrackSchema = z.object({
  id: trackIdSchema
    .regex(/^audio_[A-Za-z0-9-]+_[a-z0-9]+_\d+ch(_\d+)?$/)
    .describe('The id of the track.')
    .meta({ examples: ['audio_en_aac_2ch'] }),
  role: z.string().max(32).describe('What it is for.'),
  language: languageSchema,
  codec: codecSchema.meta({ examples: ['aac'] }),
  channels: z
    .int()
    .positive()
    .describe('How many channels it has.')
    .meta({ examples: [2] }),
  bitrate: bitrateField.meta({ examples: [128_000] }),
  playlist: playlistField,
  init: initField,
  segment_count: segmentsField,
  loudness: loudnessSchema
    .nullable()
    .optional()
    .describe('The loudness of the whole track; null for silence, absent in results from before it was measured.'),
});

const videoTrackSchema = z.object({
  id: trackIdSchema
    .regex(/^r\d+_[a-z0-9]+$/)
    .describe('The id of the track.')
    .meta({ examples: ['r720_h264'] }),
  codec: codecSchema.meta({ examples: ['h264'] }),
  hdr: z
    .enum(['none', 'pq', 'hlg'])
    .optional()
    .describe('The kind of HDR; absent in results from before HDR could be kept, when every track was SDR.'),
  width: widthField.meta({ examples: [1280] }),
  height: heightField.meta({ examples: [720] }),
  bitrate: bitrateField.meta({ examples: [3_000_000] }),
  playlist: playlistField,
  init: initField,
  segment_count: segmentsField,
  quality: rungQualitySchema.optional().describe('The measured quality, where the profile wants it (C16.12).'),
  audio_track_ids: z.array(trackIdSchema).max(audioTracksMax).describe('The audio tracks that go with it.'),
});

/** A subtitle track as WebVTT (C14.13). */
const textTrackSchema = z.object({
  id: trackIdSchema
    .regex(/^text_[A-Za-z0-9-]+(_\d+)?$/)
    .describe('The id of the track.')
    .meta({ examples: ['text_en'] }),
  codec: z.literal('webvtt').describe('The codec.'),
  language: languageSchema,
  name: boundedText(trackNameMax)
    .describe('Its name in menus.')
    .meta({ examples: ['English'] }),
  forced: z.boolean().describe('Whether it is shown without being chosen.'),
  hearing_impaired: z.boolean().describe('Whether it also says what is heard.'),
  playlist: playlistField,
  segment_count: segmentsField,
});

const streamingSchema = z.object({
  protocol: z.literal('hls').describe('The protocol.'),
  container: z.literal('cmaf').describe('The container of the segments.'),
  encrypted: z.boolean().describe('Whether the segments are encrypted.'),
  // Written by the controller when the revision is published.
  master_playlist: objectKeySchema
    .describe('The key of the playlist that leads to whatever revision is current.')
    .meta({ examples: ['videos/c3/movie-1/master.m3u8'] }),
  revision_playlist: objectKeySchema
    .optional()
    .describe('The same of this revision, which never changes; absent in results from before it was named.'),
  dash_manifest: objectKeySchema
    .optional()
    .describe('The DASH manifest of the same segments; absent in results from before it was named.'),
  default_audio_track_id: trackIdSchema
    .nullable()
    .describe('The audio track that plays unless another one is chosen; null for a source without audio.'),
});

/** An image of the audio of an audio-only source. */
const waveformSchema = z.object({
  key: objectKeySchema,
  format: z.literal('webp').describe('The format of the file.'),
  width: widthField,
  height: heightField,
  size: sizeField,
});

const chapterSchema = z.object({
  start_sec: z.number().nonnegative().describe('Where it begins, in seconds.'),
  end_sec: z.number().nonnegative().describe('Where it ends, in seconds.'),
  title: boundedText(chapterTitleMax).describe('Its title.'),
});

/** C14.1 to C14.8. */
export const videoTranscodeResults = z.object({
  streaming: streamingSchema.describe('Where the stream is.'),
  audio_tracks: z.array(audioTrackSchema).max(audioTracksMax).describe('The audio tracks.'),
  video_tracks: z
    .array(videoTrackSchema)
    .max(videoTracksMax)
    .describe('The video tracks; empty for an audio-only source.'),
  text_tracks: z
    .array(textTrackSchema)
    .max(subtitleTracksMax)
    .optional()
    .describe('The subtitle tracks; absent in results from before subtitles were made.'),
  storyboard: z
    .object({ playlist: objectKeySchema.describe('The key of the image playlist.'), cues: cuesField })
    .optional()
    .describe('Small images for seeking; absent where the profile or the source makes none.'),
  waveform: waveformSchema.optional().describe('An image of the audio; absent unless the source is audio-only.'),
  chapters: z
    .object({ cues: cuesField, list: boundedList(chapterSchema, chaptersMax).describe('The chapters by time.') })
    .optional()
    .describe('The chapters; absent for a source without them.'),
  encryption: z
    .object({
      scheme: z.literal('cbcs').describe('The scheme of Common Encryption.'),
      kid: z
        .string()
        .regex(/^[0-9a-f]{32}$/)
        .describe('The id of the content key, in hex.')
        .meta({ examples: ['9a04f07998404286ab92e65be0885f95'] }),
      key_endpoint: z.url().max(2048).describe('Where players get the content key for a playback token.'),
    })
    .optional()
    .describe('How it is encrypted; absent for a stream that is not.'),
  source: sourceFoundSchema.describe('What was found in the source.'),
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
