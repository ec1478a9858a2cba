import { framesIn, type Grid } from './grid.ts';

/** A run of whole segments of a video that is encoded by itself. Frames count from 0, segments from 1. */
export interface Chunk {
  readonly firstFrame: number;
  readonly frames: number;
  readonly firstSegment: number;
}

interface Video {
  /** All frames of the video, each rung's number. */
  readonly frames: number;
  readonly grid: Grid;
  /** The length of a chunk, to the nearest segment. */
  readonly chunkSec: number;
}

/** With fewer chunks than this, cutting and joining cost more than they save. */
const chunksMin = 3;

/**
 * The chunks of a video on its grid; none for a video that stays one piece. They follow each other without a gap, each
 * begins where a segment begins, and the last is at least half as long as the others.
 */
export function planChunks({ frames, grid, chunkSec }: Video): Chunk[] {
  const segments = Math.max(1, Math.round(framesIn(chunkSec, grid.rate) / grid.segmentFrames));
  const chunkFrames = segments * grid.segmentFrames;
  const rest = frames % chunkFrames;
  const count = Math.floor(frames / chunkFrames) + (rest * 2 >= chunkFrames ? 1 : 0);
  if (count < chunksMin) return [];
  return Array.from({ length: count }, (_, index) => {
    const firstFrame = index * chunkFrames;
    const end = index === count - 1 ? frames : firstFrame + chunkFrames;
    return { firstFrame, frames: end - firstFrame, firstSegment: 1 + index * segments };
  });
}

/** Filters that look at neighbouring frames, and frames that refer to earlier ones, need this much before a chunk. */
const prerollSec = 3;
/** A source whose key frames are farther apart than this, and than a chunk, would be decoded many times over. */
const keyDistanceSecMax = 30;

/** Where the source of each chunk begins, in seconds of the source; null: at its beginning. */
export type ChunkSource = { readonly fromSec: number | null; readonly toSec: number };

/** Frames are stored up to this long after those that are shown before them. */
const postrollSec = 2;

/**
 * The part of the source that each chunk is decoded from: from a key frame well before its first frame to a little
 * after its last. Null where key frames are too far apart, so that the video stays one piece.
 *
 * @param keyTimesSec of the key frames, in order
 */
export function chunkSources(
  chunks: readonly Chunk[],
  { rate }: Pick<Grid, 'rate'>,
  keyTimesSec: readonly number[],
): ChunkSource[] | null {
  const sources: ChunkSource[] = [];
  for (const { firstFrame, frames } of chunks) {
    const startSec = (firstFrame * rate.den) / rate.num;
    const endSec = ((firstFrame + frames) * rate.den) / rate.num;
    const fromSec = startSec === 0 ? null : (keyTimesSec.findLast((sec) => sec <= startSec - prerollSec) ?? null);
    const isFar = startSec - (fromSec ?? 0) > Math.max(keyDistanceSecMax, endSec - startSec);
    if (isFar) return null;
    sources.push({ fromSec, toSec: endSec + postrollSec });
  }
  return sources;
}
