import type { FrameSize } from '#domain/media/frame-size.ts';
import type { Command } from '#platform/commands/command.ts';
import type { VideoSource } from './examine-video.ts';
import { inputArgs, decodeArgs, quietArgs } from '../tools/ffmpeg.ts';
import { deinterlaceFilters, firstFilters, toneMapFilters, toStillFilters } from '../tools/video-filters.ts';

interface Grab {
  readonly source: Pick<VideoSource, 'path' | 'video'>;
  readonly size: FrameSize;
  readonly output: string;
}

interface GrabFrames extends Grab {
  /** Ascending, in seconds from the start of the file. */
  readonly timesSec: readonly [number, ...number[]];
}

/**
 * Writes the first frame from each time on as a PNG, with one decode from the first time to the last: `%d` in `output`
 * is replaced by 1, 2 and so on. Prints the time of each frame to stdout (`parseFrameTimes`).
 */
export function grabFramesCommand(program: string, { timesSec, ...grab }: GrabFrames): Command {
  const [fromSec, ...laterSec] = timesSec;
  const picked = ['eq(selected_n,0)', ...laterSec.map((sec, index) => pickFrom(sec - fromSec, index + 1))];
  const pickFilters = laterSec.length === 0 ? [] : [`select='${picked.join('+')}'`];
  return grabCommand(program, { ...grab, fromSec }, { pickFilters, limits: ['-frames:v', String(timesSec.length)] });
}

/** The first frame from `sec` on, once `selected` others are selected. */
function pickFrom(sec: number, selected: number): string {
  return `eq(selected_n,${selected})*gte(t,${sec.toFixed(6)})`;
}

interface GrabLastFrame extends Grab {
  /** Frames before it are skipped; seconds from the start of the file. */
  readonly fromSec: number;
  /** Frames from here on are left out; without it, none are. */
  readonly toSec?: number;
}

/** Writes the last frame of the file, or before a time, as a PNG, and prints the time of each frame to stdout. */
export function grabLastFrameCommand(program: string, grab: GrabLastFrame): Command {
  const { fromSec, toSec } = grab;
  // Not `-t`, which counts from the first frame that is decoded.
  const pickFilters = toSec === undefined ? [] : [`trim=end=${(toSec - fromSec).toFixed(6)}`];
  return grabCommand(program, grab, { pickFilters, limits: ['-update', '1'] });
}

/** `-ss` before `-i` seeks; after it, everything from the start would be decoded. */
function grabCommand(
  program: string,
  { source, fromSec, size, output }: GrabLastFrame,
  { pickFilters, limits }: { readonly pickFilters: readonly string[]; readonly limits: readonly string[] },
): Command {
  const { video } = source;
  const filters = [
    ...firstFilters(video),
    ...deinterlaceFilters(video),
    ...pickFilters,
    ...toneMapFilters(video, size),
    ...toStillFilters(video, size),
    // The second filter prints frames with metadata only, so the first adds some.
    'metadata=mode=add:key=grabbed:value=1',
    'metadata=mode=print:key=grabbed:file=-',
  ];
  return {
    program,
    args: [
      ...quietArgs,
      ...inputArgs(source.path, fromSec, decodeArgs(video)),
      '-map',
      `0:${video.streamIndex}`,
      '-vf',
      filters.join(','),
      '-fps_mode',
      'passthrough',
      '-c:v',
      'png',
      '-compression_level',
      '1',
      '-f',
      'image2',
      ...limits,
      output,
    ],
  };
}

/** The times that a command printed, in seconds from its first time. */
export function parseFrameTimes(stdout: string): number[] {
  return [...stdout.matchAll(/^frame:\d+\s+pts:\S+\s+pts_time:(-?[\d.]+)/gm)].map((match) => Number(match[1]));
}
