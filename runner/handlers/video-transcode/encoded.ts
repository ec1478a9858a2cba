import { join } from 'node:path';
import { z } from 'zod';
import { sourceFoundSchema, warningsSchema } from '#domain/job-types/shared-results.ts';
import { loudnessSchema } from '#domain/job-types/video-transcode.ts';
import { audioRoles, outputChannels } from '#domain/media/audio-plan.ts';
import { chaptersMax, isChapterTitle } from '#domain/media/chapters.ts';
import { type Rung, videoRanges } from '#domain/media/ladder.ts';
import { languageTag } from '#domain/media/languages.ts';
import { videoCodecs } from '#domain/media/profiles.ts';
import { rungQualitySchema } from '#domain/media/quality.ts';
import type { TrackKind } from '#domain/media/revision-layout.ts';
import type { SubtitlePlan } from '#domain/media/subtitle-plan.ts';
import { isTrackName } from '#domain/media/track-names.ts';
import { workspaceFiles } from '../../context/step-context.ts';
import type { MeasuredAudio } from './loudness.ts';

const count = z.int().positive();
const videoTrackSchema = z.object({
  id: z.string().regex(/^r\d+_(h264|hevc|av1)$/),
  /** H.264 and SDR in plans of films from before others. */
  codec: z.enum(videoCodecs).default('h264'),
  range: z.enum(videoRanges).default('sdr'),
  width: count,
  height: count,
  bitrateMax: count,
  quality: rungQualitySchema.optional(),
});
const audioTrackSchema = z.object({
  id: z.string().regex(/^audio_[A-Za-z0-9-]+_aac_[26]ch(_\d+)?$/),
  /** Two in plans of films from before 5.1. */
  channels: z.literal(outputChannels).default(2),
  language: z
    .string()
    .refine((tag) => languageTag(tag) === tag)
    .nullable(),
  name: z.string().refine(isTrackName),
  role: z.enum(audioRoles),
  isDefault: z.boolean(),
  loudness: loudnessSchema.nullable(),
});

const textTrackSchema = audioTrackSchema.pick({ language: true, name: true }).extend({
  id: z.string().regex(/^text_[A-Za-z0-9-]+(_\d+)?$/),
  isForced: z.boolean(),
  isHearingImpaired: z.boolean(),
});

const chapterSchema = z.object({
  startSec: z.number().nonnegative(),
  endSec: z.number().positive(),
  title: z.string().refine(isChapterTitle),
});

/**
 * The encoded tracks, in listing order: each is a fragmented MP4 in the workspace, or WebVTT. `process` may have been taken over, and its
 * strings go to the packager's arguments and into playlists: they must be what the plan of tracks can produce.
 */
export const encodedSchema = z.object({
  /** None of an audio-only source, whose waveform is in the workspace. */
  video: z.array(videoTrackSchema),
  audio: z.array(audioTrackSchema),
  text: z.array(textTrackSchema),
  /** Frames of every rung, or else of every audio track, and the grid that they are on. */
  frames: count,
  grid: z.object({ rate: z.object({ num: count, den: count }), gopFrames: count, segmentFrames: count }),
  /** Whether the sheets of a storyboard are in the workspace. */
  hasStoryboard: z.boolean(),
  /** None in plans of films from before chapters. */
  chapters: z.array(chapterSchema).max(chaptersMax).default([]),
  source: sourceFoundSchema,
  warnings: warningsSchema,
});
export type Encoded = z.infer<typeof encodedSchema>;

/** What a rung becomes in the document. */
export function videoTrackOf({ id, codec, range, width, height, bitrateMax, quality }: Rung): Encoded['video'][number] {
  const track = { id, codec, range, width, height, bitrateMax };
  return quality === undefined ? track : { ...track, quality };
}

/** What an audio track becomes in the document. */
export function audioTrackOf(track: MeasuredAudio): Encoded['audio'][number] {
  const { id, outputChannels: channels, language, name, role, isDefault, loudness } = track;
  return { id, channels, language, name, role, isDefault, loudness };
}

/** What a subtitle track becomes in the document. */
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
