import { z } from 'zod';
import { imageStagesSchema } from '../job-types/image-stages.ts';
import { manifestObjectSchema } from './manifest.ts';
import type { FilmPart } from './task.ts';

/*
 * A film: a video that is long enough to be encoded in chunks. Its work has three parts. `split` examines the source,
 * cuts it, and makes the sound; `encode` makes one chunk, in any order, anywhere; `finish` writes the playlists and the
 * result manifest. They share no disk: what one hands to another is below `work/<rev>/` in the media bucket, and
 * `work/<job_id>/film.json` leads there.
 */

const revSchema = z.string().regex(/^[0-9a-f]{16}$/);

const filmSchema = z.strictObject({
  v: z.literal(1),
  /** The revision of the film: a digest over all that decides its output. */
  rev: revSchema,
  /** The number of frames of each chunk. */
  chunk_frames: z.array(z.int().positive()).min(1),
});
/** What a job's source was split into. */
export type Film = z.infer<typeof filmSchema>;

/** Reads `work/<job_id>/film.json`. @throws ZodError, SyntaxError */
export function parseFilm(json: string): Film {
  return filmSchema.parse(JSON.parse(json));
}

const filmRecordSchema = z.strictObject({
  v: z.literal(1),
  tracks: z.array(
    z.strictObject({
      kind: z.enum(['video', 'audio', 'text']),
      id: z.string(),
      /** As the packager wrote them: of this chunk's segments alone. */
      playlist: z.string(),
      iframe_playlist: z.string().nullable(),
    }),
  ),
  /** The packager's master playlist and DASH manifest. */
  master: z.string(),
  dash: z.string(),
  /** Frames that could not be decoded whole. */
  damaged_frames: z.int().nonnegative(),
  /** As stored; `size` in bytes. */
  objects: z.array(manifestObjectSchema),
});
/** The record of a chunk's segments, or of those of sound and text. */
export type FilmRecord = z.infer<typeof filmRecordSchema>;

/** Reads a record. @throws ZodError, SyntaxError */
export function parseFilmRecord(json: string): FilmRecord {
  return filmRecordSchema.parse(JSON.parse(json));
}

const filmImagesSchema = imageStagesSchema.extend({ v: z.literal(1), objects: z.array(manifestObjectSchema) });
/** The images beside a film, and their objects. */
export type FilmImages = z.infer<typeof filmImagesSchema>;

/** Reads `work/<job_id>/images.json`. @throws ZodError, SyntaxError */
export function parseFilmImages(json: string): FilmImages {
  return filmImagesSchema.parse(JSON.parse(json));
}

/** The attributes that the spans of a part have in the trace of its attempt; empty for a job in one piece. */
export function partAttributes(part: FilmPart | null): Readonly<Record<string, string | number>> {
  if (part === null) return {};
  return { 'job.part': part.kind, ...(part.kind === 'encode' ? { 'job.chunk': part.chunk } : {}) };
}
