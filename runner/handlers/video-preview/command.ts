import type { JobOptions } from '#domain/job-types/index.ts';
import type { FrameSize } from '#domain/media/frame-size.ts';
import type { Command } from '#platform/commands/command.ts';
import type { VideoSource } from '../../source/examine-video.ts';
import { inputArgs, decodeArgs, quietArgs } from '../../tools/ffmpeg.ts';
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

const makePalette = 'palettegen=stats_mode=full';
const applyPalette = 'paletteuse=dither=bayer:bayer_scale=4:diff_mode=rectangle';
/** GIF gets a palette of its own frames. WebP's encoder converts RGB by a matrix of its own, so its input is RGB. */
const lastFilters = {
  webp: 'format=bgra',
  gif: `split[colours][frames];[colours]${makePalette}[palette];[frames][palette]${applyPalette}`,
} as const satisfies Record<PreviewFormat, string>;

/** The limit for frames that wait in memory for their palette. */
const waitingBytesMax = 256 * 1024 * 1024;

/** Whether so many or so large frames would wait for their palette that it is made first, by a decode of its own. */
export function needsPaletteFirst(preview: Preview): boolean {
  const { width, height } = preview.size;
  return preview.format === 'gif' && framesMaxOf(preview) * width * height * 4 > waitingBytesMax;
}

/** Writes the palette of a GIF, a PNG, to `output`. */
export function paletteCommand(program: string, preview: Preview, output: string): Command {
  const graph = graphOf(preview, makePalette);
  return { program, args: [...quietArgs, ...inputOf(preview), ...mapped(graph), '-frames:v', '1', output] };
}

/** Writes a short animation, with the palette at `palette` if one was made. */
export function previewCommand(program: string, preview: Preview, palette: string | null = null): Command {
  const { format, output } = preview;
  const graph =
    palette === null
      ? graphOf(preview, lastFilters[format])
      : graphOf(preview, `null[frames];[frames][1:0]${applyPalette}`);
  const limits = ['-frames:v', String(framesMaxOf(preview)), '-fps_mode', 'passthrough'];
  const input = [...inputOf(preview), ...(palette === null ? [] : ['-i', palette])];
  return { program, args: [...quietArgs, ...input, ...mapped(graph), ...limits, ...encoderArgs[format], output] };
}

function framesMaxOf({ durationSec, fps }: Preview): number {
  return Math.max(1, Math.round(durationSec * fps));
}

/** `-ss` before `-i` seeks; after it, everything from the start would be decoded. */
function inputOf({ source, startSec, leadSec, durationSec }: Preview): string[] {
  // Some FLV, AVI and TS files cannot seek to 0, so a preview from the start does not seek.
  const length = ['-t', (leadSec + durationSec).toFixed(6)];
  return inputArgs(source.path, startSec - leadSec, [...length, ...decodeArgs(source.video)]);
}

function graphOf({ source, leadSec, fps, size }: Preview, last: string): string {
  const filters = [
    ...firstFilters(source.video),
    ...deinterlaceFilters(source.video),
    ...(leadSec === 0 ? [] : [`setpts=PTS-${leadSec}/TB`]),
    // What is shown at each time: by default, a frame that begins soon after it is taken.
    `fps=fps=${fps}:start_time=0:round=up`,
    ...toneMapFilters(source.video, size),
    ...toStillFilters(source.video, size),
    last,
  ];
  return `[0:${source.video.streamIndex}]${filters.join(',')}[out]`;
}

function mapped(graph: string): readonly string[] {
  return ['-filter_complex', graph, '-map', '[out]'];
}
