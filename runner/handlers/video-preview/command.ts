import type { JobOptions } from '#domain/job-types/index.ts';
import type { FrameSize } from '#domain/media/frame-size.ts';
import type { Command } from '#platform/commands/command.ts';
import type { VideoSource } from '../../source/examine-video.ts';
import { inputArgs, keepGraphArgs, quietArgs } from '../../tools/ffmpeg.ts';
import { deinterlaceFilters, firstFilters, toneMapFilters, toStillFilters } from '../../tools/video-filters.ts';

type PreviewFormat = JobOptions<'video:preview'>['format'];

/** The animation to make. */
export interface Preview {
  readonly source: Pick<VideoSource, 'path' | 'video'>;
  readonly startSec: number;
  /** How much earlier decoding begins, with the frame that is shown at the start or before it. */
  readonly leadSec: number;
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

/** GIF gets a palette of its own frames. WebP's encoder converts RGB by a matrix of its own, so its input is RGB. */
const lastFilters = {
  webp: 'format=bgra',
  gif: 'split[colours][frames];[colours]palettegen=stats_mode=full[palette];[frames][palette]paletteuse=dither=bayer:bayer_scale=4:diff_mode=rectangle',
} as const satisfies Record<PreviewFormat, string>;

/** Writes a short animation. `-ss` before `-i` seeks; after it, everything from the start would be decoded. */
export function previewCommand(program: string, preview: Preview): Command {
  const { source, startSec, leadSec, durationSec, fps, size, format, output } = preview;
  const filters = [
    ...firstFilters(source.video),
    ...deinterlaceFilters(source.video),
    ...(leadSec === 0 ? [] : [`setpts=PTS-${leadSec}/TB`]),
    // What is shown at each time: by default, a frame that begins soon after it is taken.
    `fps=fps=${fps}:start_time=0:round=up`,
    ...toneMapFilters(source.video, size),
    ...toStillFilters(source.video, size),
    lastFilters[format],
  ];
  const framesMax = Math.max(1, Math.round(durationSec * fps));
  // Some FLV, AVI and TS files cannot seek to 0, so a preview from the start does not seek.
  const length = ['-t', (leadSec + durationSec).toFixed(6)];
  const input = inputArgs(source.path, startSec - leadSec, [...length, ...keepGraphArgs(source.video)]);
  const limits = ['-frames:v', String(framesMax), '-fps_mode', 'passthrough'];
  const graph = `[0:${source.video.streamIndex}]${filters.join(',')}[out]`;
  return {
    program,
    args: [
      ...quietArgs,
      ...input,
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
