import type { Chunk, ChunkSource } from '#domain/media/chunk-plan.ts';
import type { Grid } from '#domain/media/grid.ts';
import { showRational } from '#domain/media/rational.ts';
import type { Command } from '#platform/commands/command.ts';
import { chunkInputArgs, chunkMp4Args, inputArgs, noMetadataArgs, quietArgs } from '../../../tools/ffmpeg.ts';
import { deinterlaceFilters } from '../../../tools/video-filters.ts';
import { type MarkedRung, progressArgs, rungsGraph } from '../command.ts';
import { x264Args } from '../encoders.ts';
import { markInputArgs } from '../watermark.ts';
import type { FilmPlan } from './plan.ts';

/**
 * Added to every time in a chunk's source: a muxer moves a file with negative times, and those of the first pictures in
 * decoding order are negative.
 */
const offsetSec = 10;

interface Cut {
  readonly path: string;
  readonly container: string;
  readonly streamIndex: number;
  /** When the source begins, in seconds of its own timestamps. */
  readonly startSec: number;
  readonly part: ChunkSource;
  readonly output: string;
}

/**
 * Copies a part of the video without decoding it, with its own times. NUT keeps the time base, which Matroska rounds to
 * a millisecond.
 */
export function cutCommand(program: string, { path, container, streamIndex, startSec, part, output }: Cut): Command {
  return {
    program,
    args: [
      ...quietArgs,
      '-copyts',
      ...inputArgs(path, seekSec(part, container)),
      '-map',
      `0:${streamIndex}`,
      '-c',
      'copy',
      '-to',
      (startSec + part.toSec).toFixed(6),
      '-output_ts_offset',
      String(offsetSec),
      ...noMetadataArgs,
      '-f',
      'nut',
      output,
    ],
  };
}

/** ffmpeg seeks 0.13 s before the time that it is given, since decoding times lie before those of showing. */
const indexMarginSec = 0.15;
/** In MPEG-2 TS, which has no index, a seek may end in the middle of a picture, which is then left out. */
const streamMarginSec = 0.5;

function seekSec({ fromSec }: ChunkSource, container: string): number | undefined {
  if (fromSec === null) return undefined;
  return fromSec + (container === 'mpegts' ? -streamMarginSec : indexMarginSec);
}

/** A time of a chunk's source in seconds from the start of the film. */
export function filmSec(chunkSourceSec: number, startSec: number): number {
  return chunkSourceSec - offsetSec - startSec;
}

interface ChunkEncode {
  readonly path: string;
  readonly plan: Pick<FilmPlan, 'picture' | 'startSec' | 'encoding'> & { readonly grid: Grid };
  readonly chunk: Chunk;
  /** From small to large. */
  readonly rungs: readonly MarkedRung[];
}

/**
 * One ffmpeg that encodes exactly the frames of a chunk, for every rung, at their places in the film.
 *
 * The frames are those of an encode in one piece: `fps` counts from time 0 of the film, as it does there, and the frames
 * before the chunk are dropped.
 */
export function encodeChunkCommand(program: string, { path, plan, chunk, rungs }: ChunkEncode): Command {
  const { picture, grid, encoding } = plan;
  const frames = [
    ...rotationFilters(picture.rotation),
    // ffmpeg moves the times of a whole source in the same way: by its start, rounded to the stream's time base.
    `setpts=PTS-round(${(plan.startSec + offsetSec).toFixed(6)}/TB)`,
    ...deinterlaceFilters(picture),
    `fps=fps=${showRational(grid.rate)}:start_time=0`,
    // A film that ends early, or a gap, shows the last picture before it.
    'tpad=stop_mode=clone:stop=-1',
    `trim=start_frame=${chunk.firstFrame}:end_frame=${chunk.firstFrame + chunk.frames}`,
    ...(chunk.firstFrame === 0 ? [] : [`setpts=PTS-${reorderFrames(encoding)}`]),
  ];
  return {
    program,
    args: [
      ...quietArgs,
      ...progressArgs,
      ...chunkInputArgs(path),
      ...markInputArgs(rungs, grid.rate),
      // Damage is judged over the whole film.
      '-max_error_rate',
      '1',
      '-filter_complex',
      rungsGraph(0, frames, { video: picture, rungs }),
      ...rungs.flatMap(({ track, path: output }, index) => [
        '-map',
        `[out${index}]`,
        ...x264Args(track, grid, encoding),
        ...chunkMp4Args,
        output,
      ]),
    ],
  };
}

/** As ffmpeg turns the pictures of a file with a display matrix; a chunk's source has none. */
function rotationFilters(rotation: number): string[] {
  if (rotation === 90) return ['transpose=clock'];
  if (rotation === 180) return ['hflip', 'vflip'];
  return rotation === 270 ? ['transpose=cclock'] : [];
}

/**
 * By how many frames x264 shows a picture later than it decodes it. The packager takes it out of every chunk but the
 * first, where it knows that no edit list is missing, and `publish` checks that the times came out right.
 */
function reorderFrames({ preset }: FilmPlan['encoding']): number {
  return preset === 'ultrafast' ? 0 : 2;
}
