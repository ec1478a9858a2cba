import type { Chunk, ChunkSource } from '#domain/media/chunk-plan.ts';
import type { Grid } from '#domain/media/grid.ts';
import { showRational } from '#domain/media/rational.ts';
import type { Command } from '#platform/commands/command.ts';
import {
  chunkInputArgs,
  chunkMp4Args,
  inputArgs,
  decodeArgs,
  noMetadataArgs,
  quietArgs,
} from '../../../tools/ffmpeg.ts';
import { deinterlaceFilters, firstFilters } from '../../../tools/video-filters.ts';
import { type MarkedRung, progressArgs, rungsGraph } from '../command.ts';
import { x264Args } from '../encoders.ts';
import { markInputArgs } from '../watermark.ts';
import type { EncodePlan } from './plan.ts';

/**
 * Added to every time in a chunk's source: the first frames in decoding order have negative times, and a muxer shifts a
 * file with negative times.
 */
const offsetSec = 10;

/** Where the source of a chunk is written, and where what `parseFirstTime` reads is. */
export interface CutOutput {
  readonly cut: ChunkSource;
  readonly output: string;
  readonly firstPacket: string;
}

interface Cuts {
  readonly path: string;
  readonly container: string;
  readonly streamIndex: number;
  /** When the source begins, in seconds of its own timestamps. */
  readonly startSec: number;
  /** The cuts of neighbouring chunks, in their order; at least one. */
  readonly cuts: readonly CutOutput[];
}

/**
 * Copies cuts of the video without decoding it, with its own times. NUT keeps the time base, which Matroska rounds to a
 * millisecond. One ffmpeg seeks to the first cut, and reads the source once for all of them.
 */
export function cutCommand(program: string, { path, container, streamIndex, startSec, cuts }: Cuts): Command {
  const outputs = cuts.flatMap(({ cut, output, firstPacket }, index) => {
    const beginsAtSec = index === 0 ? 0 : Math.max(0, Math.floor(startSec + (cut.fromSec ?? 0) - copyMarginSec));
    const copied = [
      '-map',
      `0:${streamIndex}`,
      '-c',
      'copy',
      // Taken off every time of the output, and in whole seconds, so that adding it again rounds nothing.
      ...(beginsAtSec === 0 ? [] : ['-ss', String(beginsAtSec)]),
    ];
    const moved = ['-output_ts_offset', String(offsetSec + beginsAtSec), ...noMetadataArgs];
    const end = (startSec + cut.toSec).toFixed(6);
    const source = [...copied, '-to', end, ...moved, '-f', 'nut', output];
    const onePacket = [...copied, '-frames:v', '1', ...moved, '-f', 'framecrc', firstPacket];
    return [...source, ...onePacket];
  });
  const [first] = cuts;
  const seek = first === undefined ? undefined : seekSec(first.cut, container);
  return { program, args: [...quietArgs, '-copyts', ...inputArgs(path, seek), ...outputs] };
}

/**
 * When the first packet of a cut begins, in seconds of its timestamps; null when it has none. ffmpeg begins to copy at
 * a key frame.
 */
export function parseFirstTime(framecrc: string): number | null {
  const base = /^#tb 0: (\d+)\/(\d+)$/m.exec(framecrc);
  const packet = /^0, *-?\d+, *(-?\d+),/m.exec(framecrc);
  const ticks = Number(packet?.[1]);
  return base === null || !Number.isSafeInteger(ticks) ? null : (ticks * Number(base[1])) / Number(base[2]);
}

/**
 * ffmpeg begins an output at its first key frame by decoding time, which is up to 16 frames before its time. Where that
 * is more, `splitSource` makes this cut by itself.
 */
const copyMarginSec = 1;
/** ffmpeg seeks 0.13 s before the given time, since decoding times are earlier. */
const indexMarginSec = 0.15;
/** In MPEG-2 TS, which has no index, a seek may end in the middle of a frame, which is then left out. */
const streamMarginSec = 0.5;

function seekSec({ fromSec }: ChunkSource, container: string): number | undefined {
  if (fromSec === null) return undefined;
  return fromSec + (container === 'mpegts' ? -streamMarginSec : indexMarginSec);
}

/** A time of a chunk's source in seconds from the start of the video. */
export function videoSec(chunkSourceSec: number, startSec: number): number {
  return chunkSourceSec - offsetSec - startSec;
}

interface ChunkEncode {
  readonly path: string;
  readonly plan: Pick<EncodePlan, 'frame' | 'startSec' | 'encoding'> & { readonly grid: Grid };
  readonly chunk: Chunk;
  /** From small to large. */
  readonly rungs: readonly MarkedRung[];
}

/**
 * One ffmpeg that encodes exactly the frames of a chunk, for every rung, at their places in the whole video.
 *
 * The frames equal an encode in one piece: `fps` counts from time 0 of the video, and frames before the chunk are
 * dropped.
 */
export function encodeChunkCommand(program: string, { path, plan, chunk, rungs }: ChunkEncode): Command {
  const { frame, grid, encoding } = plan;
  const frames = [
    ...firstFilters(frame),
    ...rotationFilters(frame.rotation),
    // ffmpeg moves the times of a whole source in the same way: by its start, rounded to the stream's time base.
    `setpts=PTS-round(${(plan.startSec + offsetSec).toFixed(6)}/TB)`,
    ...deinterlaceFilters(frame),
    `fps=fps=${showRational(grid.rate)}:start_time=0`,
    // A video that ends early, or a gap, repeats the last frame before it.
    'tpad=stop_mode=clone:stop=-1',
    `trim=start_frame=${chunk.firstFrame}:end_frame=${chunk.firstFrame + chunk.frames}`,
    ...(chunk.firstFrame === 0 ? [] : [`setpts=PTS-${reorderFrames(encoding)}`]),
  ];
  return {
    program,
    args: [
      ...quietArgs,
      ...progressArgs,
      ...chunkInputArgs(path, decodeArgs(frame)),
      ...markInputArgs(rungs, grid.rate),
      // Damage is judged over the whole video.
      '-max_error_rate',
      '1',
      '-filter_complex',
      rungsGraph('[0:0]', frames, { video: frame, rungs }),
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

/** As ffmpeg turns the frames of a file with a display matrix; a chunk's source has none. */
function rotationFilters(rotation: number): string[] {
  if (rotation === 90) return ['transpose=clock'];
  if (rotation === 180) return ['hflip', 'vflip'];
  return rotation === 270 ? ['transpose=cclock'] : [];
}

/**
 * By how many frames x264 displays a frame later than it decodes it. The packager subtracts it in every chunk except
 * the first, where it knows that no edit list is missing; `publish` checks the times.
 */
function reorderFrames({ preset }: EncodePlan['encoding']): number {
  return preset === 'ultrafast' ? 0 : 2;
}
