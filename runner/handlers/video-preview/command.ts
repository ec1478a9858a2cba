import type { JobOptions } from '#domain/job-types/index.ts';
import type { FrameSize } from '#domain/media/frame-size.ts';
import type { Command } from '#platform/commands/command.ts';
import type { Source } from '../../source/examine.ts';
import { guardArgs, pixelsMax, quietArgs } from '../../tools/ffmpeg.ts';
import { deinterlaceFilters, toneMapFilters, toStillFilters } from '../../tools/video-filters.ts';

type PreviewFormat = JobOptions<'video:preview'>['format'];

interface Preview {
  readonly source: Pick<Source, 'path' | 'video'>;
  readonly startSec: number;
  readonly durationSec: number;
  readonly fps: number;
  readonly size: FrameSize;
  readonly format: PreviewFormat;
  readonly output: string;
}

const encoderArgs = {
  webp: ['-c:v', 'libwebp_anim', '-quality', '75', '-compression_level', '4', '-loop', '0', '-f', 'webp'],
  gif: ['-c:v', 'gif', '-loop', '0', '-f', 'gif'],
} as const satisfies Record<PreviewFormat, readonly string[]>;

/** A palette made for these frames; WebP's encoder converts RGB by its own matrix, so it is given RGB. */
const lastFilters = {
  webp: 'format=bgra',
  gif: 'split[colours][frames];[colours]palettegen=stats_mode=diff[palette];[frames][palette]paletteuse=dither=bayer:bayer_scale=4:diff_mode=rectangle',
} as const satisfies Record<PreviewFormat, string>;

/** Writes a short animation; the seek before `-i` decodes nothing in front of it. */
export function previewCommand(program: string, preview: Preview): Command {
  const { source, startSec, durationSec, fps, size, format, output } = preview;
  const filters = [
    ...deinterlaceFilters(source.video),
    `fps=fps=${fps}:start_time=0`,
    ...toneMapFilters(source.video, size),
    ...toStillFilters(source.video, size),
    lastFilters[format],
  ];
  const framesMax = Math.max(1, Math.round(durationSec * fps));
  const input = [
    ...guardArgs,
    '-max_pixels',
    String(pixelsMax),
    '-ss',
    startSec.toFixed(6),
    '-t',
    durationSec.toFixed(6),
  ];
  const limits = ['-frames:v', String(framesMax), '-fps_mode', 'passthrough'];
  const graph = `[0:${source.video.streamIndex}]${filters.join(',')}[out]`;
  return {
    program,
    args: [
      ...quietArgs,
      ...input,
      '-i',
      source.path,
      '-filter_complex',
      graph,
      '-map',
      '[out]',
      ...limits,
      ...encoderArgs[format],
      output,
    ],
  };
}
