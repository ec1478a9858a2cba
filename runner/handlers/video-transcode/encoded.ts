import { join } from 'node:path';
import { z } from 'zod';
import { sourceFoundSchema, warningsSchema } from '#domain/job-types/shared-results.ts';
import { audioTracksMax, loudnessSchema, trackIdSchema, videoTracksMax } from '#domain/job-types/video-transcode.ts';
import { type AudioPlan, audioRoles, outputChannels } from '#domain/media/audio-plan.ts';
import { chaptersMax, chapterTitleMax, isChapterTitle } from '#domain/media/chapters.ts';
import { type Rung, videoRanges } from '#domain/media/ladder.ts';
import { languageLengthMax, languageTag } from '#domain/media/languages.ts';
import { videoCodecs } from '#domain/media/profiles.ts';
import { rungQualitySchema } from '#domain/media/quality.ts';
import type { TrackKind } from '#domain/media/revision-layout.ts';
import { type SubtitlePlan, subtitleTracksMax } from '#domain/media/subtitle-plan.ts';
import { isTrackName, trackNameMax } from '#domain/media/track-names.ts';
import { workspaceFiles } from '../../context/step-context.ts';

const count = z.int().positive();
const videoTrackSchema = z.object({
  id: trackIdSchema.regex(/^r\d+_(h264|hevc|av1)$/),
  /** H.264 and SDR in older plans. */
  codec: z.enum(videoCodecs).default('h264'),
  range: z.enum(videoRanges).default('sdr'),
  width: count,
  height: count,
  bitrateMax: count,
  quality: rungQualitySchema.optional(),
});
const audioTrackSchema = z.object({
  id: trackIdSchema.regex(/^audio_[A-Za-z0-9-]+_aac_[26]ch(_\d+)?$/),
  /** Two in older plans. */
  channels: z.literal(outputChannels).default(2),
  language: z
    .string()
    .max(languageLengthMax)
    .refine((tag) => languageTag(tag) === tag)
    .nullable(),
  name: z.string().max(trackNameMax).refine(isTrackName),
  role: z.enum(audioRoles),
  isDefault: z.boolean(),
  loudness: loudnessSchema.nullable(),
});

const textTrackSchema = audioTrackSchema.pick({ language: true, name: true }).extend({
  id: trackIdSchema.regex(/^text_[A-Za-z0-9-]+(_\d+)?$/),
  isForced: z.boolean(),
  isHearingImpaired: z.boolean(),
});

const chapterSchema = z.object({
  startSec: z.number().nonnegative(),
  endSec: z.number().positive(),
  title: z.string().max(chapterTitleMax).refine(isChapterTitle),
});

/**
 * The encoded tracks, in listing order: each is a fragmented MP4 in the workspace, or WebVTT. `process` may have been
 * taken over, and its strings go into the packager's arguments and playlists: so only strings that the plan of tracks
 * produces are allowed.
 */
export const encodedSchema = z.object({
  /** None of an audio-only source, whose waveform is in the workspace. */
  video: z.array(videoTrackSchema).max(videoTracksMax),
  audio: z.array(audioTrackSchema).max(audioTracksMax),
  text: z.array(textTrackSchema).max(subtitleTracksMax),
  /** Frames of every rung, or else of every audio track, and the grid that they are on. */
  frames: count,
  grid: z.object({ rate: z.object({ num: count, den: count }), gopFrames: count, segmentFrames: count }),
  /** Whether the sheets of a storyboard are in the workspace. */
  hasStoryboard: z.boolean(),
  /** None in older plans. */
  chapters: z.array(chapterSchema).max(chaptersMax).default([]),
  source: sourceFoundSchema,
  warnings: warningsSchema,
});
export type Encoded = z.infer<typeof encodedSchema>;

/** The entry of a rung in the document. */
export function videoTrackOf({ id, codec, range, width, height, bitrateMax, quality }: Rung): Encoded['video'][number] {
  const track = { id, codec, range, width, height, bitrateMax };
  return quality === undefined ? track : { ...track, quality };
}

/** An encoded track with its loudness; null for silence. */
export type MeasuredAudio = AudioPlan & { readonly loudness: z.infer<typeof loudnessSchema> | null };

/** The entry of an audio track in the document. */
export function audioTrackOf(track: MeasuredAudio): Encoded['audio'][number] {
  const { id, outputChannels: channels, language, name, role, isDefault, loudness } = track;
  return { id, channels, language, name, role, isDefault, loudness };
}

/** The entry of a subtitle track in the document. */
export function textTrackOf(track: SubtitlePlan): Encoded['text'][number] {
  const { id, language, name, isForced, isHearingImpaired } = track;
  return { id, language, name, isForced, isHearingImpaired };
}

/** The folder of the workspace with the encoded tracks of a kind. */
export function encodedFolder(kind: TrackKind): string {
  return join(workspaceFiles.made, kind);
}

/** The file of an encoded track in the workspace. */
export function encodedFile(kind: TrackKind, id: string): string {
  return join(encodedFolder(kind), `${id}.${kind === 'text' ? 'vtt' : 'mp4'}`);
}
