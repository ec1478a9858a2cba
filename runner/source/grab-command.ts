import type { FrameSize } from '#domain/media/frame-size.ts';
import type { Command } from '#platform/commands/command.ts';
import type { VideoSource } from './examine-video.ts';
import { inputArgs, quietArgs } from '../tools/ffmpeg.ts';
import { deinterlaceFilters, toneMapFilters, toStillFilters } from '../tools/video-filters.ts';

interface Grab {
  readonly source: Pick<VideoSource, 'path' | 'video'>;
  /** Frames before it are skipped; seconds from the start of the file. */
  readonly fromSec: number;
  /** The first frame from there, or the last of the file. */
  readonly which: 'first' | 'last';
  readonly size: FrameSize;
  readonly output: string;
}

/**
 * Writes one frame as PNG, and prints the time of each frame that it decoded to stdout (`parseFrameTimes`).
 *
 * `-ss` before `-i` seeks; after it, everything from the start would be decoded.
 */
export function grabFrameCommand(program: string, { source, fromSec, which, size, output }: Grab): Command {
  const { video } = source;
  const filters = [
    ...deinterlaceFilters(video),
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

/** The times that `grabFrameCommand` printed, in seconds from its `fromSec`. */
export function parseFrameTimes(stdout: string): number[] {
  return [...stdout.matchAll(/^frame:\d+\s+pts:\S+\s+pts_time:(-?[\d.]+)/gm)].map((match) => Number(match[1]));
}
