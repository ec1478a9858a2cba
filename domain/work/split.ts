import { z } from 'zod';
import { imageStagesSchema } from '../job-types/image-stages.ts';
import { parseJson } from '../parse-json.ts';
import { manifestObjectSchema } from './manifest.ts';

/*
 * The documents that the units of a chunked encode hand to each other. A chunk is named everywhere by its index in
 * `chunk_frames`, from 0.
 */

/** More chunks than 12 hours have at the shortest chunk length. */
export const chunksMax = 10_000;
/** 12 hours at 60 frames a second. */
const framesMax = 12 * 3600 * 60;

/** More attempts than a job has. */
export const earlierRevsMax = 64;
const revSchema = z.string().regex(/^[0-9a-f]{16}$/);

export const splitShape = z.strictObject({
  v: z.literal(1),
  /** The shared revision: a digest over all that decides the output. */
  rev: revSchema,
  /** Revisions that earlier attempts of the job made, with other tools or settings; only to be cleaned up. */
  earlier: z.array(revSchema).max(earlierRevsMax).optional(),
  /** The number of frames of each chunk. */
  chunk_frames: z.array(z.int().positive().max(framesMax)).min(1).max(chunksMax),
});
/** The pieces that a job's source was split into (`splitKey`). */
export type Split = z.infer<typeof splitShape>;

/** The largest document of a split, in bytes: ten digits for each chunk. */
export const splitBytesMax = 128 * 1024;

/** Reads the document of a split. @throws ZodError, SyntaxError */
export function parseSplit(json: string): Split {
  return splitShape.parse(parseJson(json));
}

const pendingChunksSchema = splitShape.extend({ chunks: z.array(z.int().nonnegative().max(chunksMax)).max(chunksMax) });
/** A split, and the chunks that are not finished. The pods of an Indexed Job take them by their index in `chunks`. */
export type PendingChunks = z.infer<typeof pendingChunksSchema>;

/** Reads pending chunks. @throws ZodError, SyntaxError */
export function parsePendingChunks(json: string): PendingChunks {
  return pendingChunksSchema.parse(parseJson(json));
}

/**
 * The share of a split's frames that is encoded, 0–1.
 *
 * @param fractionOf the share of a chunk's frames that is encoded, 0–1
 */
export function encodedShare({ chunk_frames: frames }: Split, fractionOf: (chunk: number) => number): number {
  const all = frames.reduce((sum, each) => sum + each, 0);
  return frames.reduce((sum, each, chunk) => sum + each * fractionOf(chunk), 0) / all;
}

const playlistCharactersMax = 4 * 1024 * 1024;

export const chunkResultSchema = z.strictObject({
  v: z.literal(1),
  tracks: z
    .array(
      z.strictObject({
        kind: z.enum(['video', 'audio', 'text']),
        id: z.string().max(128),
        /** As the packager wrote them: of this chunk's segments alone. */
        playlist: z.string().max(playlistCharactersMax),
        iframe_playlist: z.string().max(playlistCharactersMax).nullable(),
      }),
    )
    .max(64),
  /** The packager's master playlist and DASH manifest. */
  master: z.string().max(playlistCharactersMax),
  dash: z.string().max(playlistCharactersMax),
  /** Frames that could not be decoded whole. */
  damaged_frames: z.int().nonnegative(),
  /** As stored; `size` in bytes. */
  objects: z.array(manifestObjectSchema).max(1_000_000),
});
/** The result of a chunk, or of audio and text: its segments and their playlists. Written last, and only once. */
export type ChunkResult = z.infer<typeof chunkResultSchema>;

/** Reads a chunk result. @throws ZodError, SyntaxError */
export function parseChunkResult(json: string): ChunkResult {
  return chunkResultSchema.parse(parseJson(json));
}

export const splitImagesSchema = imageStagesSchema.extend({
  v: z.literal(1),
  objects: z.array(manifestObjectSchema).max(16),
});
/** The images that `split` of a `video:full` made (`splitImagesKey`). */
export type SplitImages = z.infer<typeof splitImagesSchema>;

/** Reads the document of these images. @throws ZodError, SyntaxError */
export function parseSplitImages(json: string): SplitImages {
  return splitImagesSchema.parse(parseJson(json));
}
