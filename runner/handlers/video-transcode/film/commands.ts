import type { Chunk, ChunkSource } from '#domain/media/chunk-plan.ts';
import type { Grid } from '#domain/media/grid.ts';
import { showRational } from '#domain/media/rational.ts';
import type { Command } from '#platform/commands/command.ts';
import {
  chunkInputArgs,
  chunkMp4Args,
  inputArgs,
  keepGraphArgs,
  noMetadataArgs,
  quietArgs,
} from '../../../tools/ffmpeg.ts';
import { deinterlaceFilters, oneSizeFilters } from '../../../tools/video-filters.ts';
import { type MarkedRung, progressArgs, rungsGraph } from '../command.ts';
import { x264Args } from '../encoders.ts';
import { markInputArgs } from '../watermark.ts';
import type { FilmPlan } from './plan.ts';

/**
 * Added to every time in a chunk's source: a muxer moves a file with negative times, and those of the first pictures in
 * decoding order are negative.
 */
const offsetSec = 10;

/** Where the source of a chunk is written, and where what `parseFirstTime` reads is. */
export interface CutPart {
  readonly part: ChunkSource;
  readonly output: string;
  readonly firstPacket: string;
}

interface Cuts {
  readonly path: string;
  readonly container: string;
  readonly streamIndex: number;
  /** When the source begins, in seconds of its own timestamps. */
  readonly startSec: number;
  /** Of neighbouring chunks, in their order; at least one. */
  readonly parts: readonly CutPart[];
}

/**
 * Copies parts of the video without decoding it, with its own times. NUT keeps the time base, which Matroska rounds to
 * a millisecond. One ffmpeg seeks to the first part, and reads the source once for all of them.
 */
export function cutCommand(program: string, { path, container, streamIndex, startSec, parts }: Cuts): Command {
  const outputs = parts.flatMap(({ part, output, firstPacket }, index) => {
    const beginsAtSec = index === 0 ? 0 : Math.max(0, Math.floor(startSec + (part.fromSec ?? 0) - copyMarginSec));
    const copied = [
      '-map',
      `0:${streamIndex}`,
      '-c',
      'copy',
      // Taken off every time of the output, and in whole seconds, so that adding it again rounds nothing.
      ...(beginsAtSec === 0 ? [] : ['-ss', String(beginsAtSec)]),
    ];
    const moved = ['-output_ts_offset', String(offsetSec + beginsAtSec), ...noMetadataArgs];
    const end = (startSec + part.toSec).toFixed(6);
    const source = [...copied, '-to', end, ...moved, '-f', 'nut', output];
    const onePacket = [...copied, '-frames:v', '1', ...moved, '-f', 'framecrc', firstPacket];
    return [...source, ...onePacket];
  });
  const [first] = parts;
  const seek = first === undefined ? undefined : seekSec(first.part, container);
  return { program, args: [...quietArgs, '-copyts', ...inputArgs(path, seek), ...outputs] };
}

/**
 * When the first packet of a part begins, in seconds of its timestamps; null when it has none. ffmpeg begins to copy at a
 * key frame.
 */
export function parseFirstTime(framecrc: string): number | null {
  const base = /^#tb 0: (\d+)\/(\d+)$/m.exec(framecrc);
  const packet = /^0, *-?\d+, *(-?\d+),/m.exec(framecrc);
  const ticks = Number(packet?.[1]);
  return base === null || !Number.isSafeInteger(ticks) ? null : (ticks * Number(base[1])) / Number(base[2]);
}

/**
 * An output begins at its first key frame that is decoded from the given time on, which lies before that of showing: up to
 * 16 frames. Where that is more, `splitFilm` cuts the part by itself.
 */
const copyMarginSec = 1;
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
    ...oneSizeFilters(picture),
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
      ...chunkInputArgs(path, keepGraphArgs(picture)),
      ...markInputArgs(rungs, grid.rate),
      // Damage is judged over the whole film.
      '-max_error_rate',
      '1',
      '-filter_complex',
      rungsGraph('[0:0]', frames, { video: picture, rungs }),
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
