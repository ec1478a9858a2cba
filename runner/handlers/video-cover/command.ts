import type { FrameSize } from '#domain/media/frame-size.ts';
import type { Command } from '#platform/commands/command.ts';
import type { Source } from '../../source/examine.ts';
import { inputArgs, quietArgs } from '../../tools/ffmpeg.ts';
import { deinterlaceFilters, toneMapFilters, toStillFilters } from '../../tools/video-filters.ts';

interface Grab {
  readonly source: Pick<Source, 'path' | 'video'>;
  /** Frames before it are passed over; seconds from the start of the file. */
  readonly fromSec: number;
  /** The first frame from there, or the last of the file. */
  readonly which: 'first' | 'last';
  readonly size: FrameSize;
  readonly output: string;
}

/**
 * Writes one frame as PNG, and the time of each frame that it had in hand to stdout (`parseFrameTimes`).
 *
 * `-ss` before `-i`: after it, everything from the start would be decoded.
 */
export function grabFrameCommand(program: string, { source, fromSec, which, size, output }: Grab): Command {
  const { video } = source;
  const filters = [
    ...deinterlaceFilters(video),
    ...toneMapFilters(video, size),
    ...toStillFilters(video, size),
    // The filter prints frames that have metadata alone, so they are given some.
    'metadata=mode=add:key=grabbed:value=1',
    'metadata=mode=print:key=grabbed:file=-',
  ];
  return {
    program,
    args: [
      ...quietArgs,
      ...inputArgs(source.path, fromSec),
      '-map',
      `0:${video.streamIndex}`,
      ...(which === 'first' ? ['-frames:v', '1'] : []),
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
      '-update',
      '1',
      output,
    ],
  };
}

/** The times that `grabFrameCommand` printed, in seconds from where it began. */
export function parseFrameTimes(stdout: string): number[] {
  return [...stdout.matchAll(/^frame:\d+\s+pts:\S+\s+pts_time:(-?[\d.]+)/gm)].map((match) => Number(match[1]));
}
