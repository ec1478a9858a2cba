import { join } from 'node:path';
import { z } from 'zod';
import { sourceFoundSchema, warningsSchema } from '#domain/job-types/shared-results.ts';
import { audioRoles, isAudioName } from '#domain/media/audio-plan.ts';
import { languageTag } from '#domain/media/languages.ts';
import type { TrackKind } from '#domain/media/revision-layout.ts';
import { workspaceFiles } from '../../context/step-context.ts';

const count = z.int().positive();
const videoTrackSchema = z.object({
  id: z.string().regex(/^r\d+_h264$/),
  width: count,
  height: count,
  bitrateMax: count,
});
const audioTrackSchema = z.object({
  id: z.string().regex(/^audio_[A-Za-z0-9-]+_aac_2ch(_\d+)?$/),
  language: z
    .string()
    .refine((tag) => languageTag(tag) === tag)
    .nullable(),
  name: z.string().refine(isAudioName),
  role: z.enum(audioRoles),
  isDefault: z.boolean(),
});

/**
 * The encoded tracks, in listing order: each is a fragmented MP4 in the workspace. `process` may have been taken over, and its
 * strings go to the packager's arguments and into playlists: they must be what the plan of tracks can produce.
 */
export const encodedSchema = z.object({
  video: z.array(videoTrackSchema).min(1),
  audio: z.array(audioTrackSchema),
  /** Frames of every rung, and the grid that they are on. */
  frames: count,
  grid: z.object({ rate: z.object({ num: count, den: count }), gopFrames: count, segmentFrames: count }),
  source: sourceFoundSchema,
  warnings: warningsSchema,
});
export type Encoded = z.infer<typeof encodedSchema>;

/** The folder of the workspace with the encoded tracks of a kind. */
export function encodedFolder(kind: TrackKind): string {
  return join(workspaceFiles.made, kind);
}

/** The file of an encoded track in the workspace. */
export function encodedFile(kind: TrackKind, id: string): string {
  return join(encodedFolder(kind), `${id}.mp4`);
}
