import { framePixelsMax } from '#domain/media/frame-size.ts';
import { isFitted, type FrameFormat } from './video-filters.ts';

/**
 * The demuxers that may read a source. Playlists (hls, concat, dash), image sequences and all others that open further
 * files or addresses are left out, so a source cannot make a tool read anything but itself. The audio demuxers are for
 * streams of audio alone.
 */
const demuxers = [
  'mov',
  'matroska',
  'mpegts',
  'mpeg',
  'avi',
  'flv',
  'asf',
  'ogg',
  'mxf',
  'gif',
  'apng',
  'wav',
  'mp3',
  'flac',
  'aac',
] as const;

/**
 * Arguments before every source of ffmpeg and ffprobe. They may open the file itself, and no address or playlist. All
 * search as far for streams that begin late, since one that ffprobe alone finds cannot be decoded.
 */
export const sourceArgs = [...guardArgsFor(demuxers), '-probesize', '20M', '-analyzeduration', '20M'] as const;

/** The guards for a file of our own, which has one format. */
export const chunkGuardArgs = guardArgsFor(['nut']);

function guardArgsFor(formats: readonly string[]): readonly string[] {
  return ['-protocol_whitelist', 'file', '-format_whitelist', formats.join(',')];
}

/** Frames with more pixels are refused, and all are cropped to the pixel: by default, aligned memory comes first. */
export const frameArgs = ['-max_pixels', String(framePixelsMax), '-flags', '+unaligned'] as const;

/** ffmpeg without a console; progress goes to stdout, one `key=value` a line. */
export const quietArgs = ['-nostdin', '-hide_banner', '-nostats', '-loglevel', 'warning', '-y'] as const;

/** Leaves out tags and chapters of the source. */
export const noMetadataArgs = ['-map_metadata', '-1', '-map_chapters', '-1'] as const;

/** Fragmented MP4 as the packager needs it; `empty_moov` would drop the edit list. */
export const fragmentedMp4Args = ['-movflags', '+frag_keyframe+delay_moov+default_base_moof', '-f', 'mp4'] as const;

/** The same for a chunk, which keeps its place in the video: without these flags its decode times would begin at 0. */
export const chunkMp4Args = [
  '-avoid_negative_ts',
  'disabled',
  '-movflags',
  '+frag_keyframe+empty_moov+default_base_moof+frag_discont',
  '-f',
  'mp4',
] as const;

/** Guarded arguments that open `source` as an input, at `seekSec` seconds, within further `limits`. */
export function inputArgs(source: string, seekSec?: number, limits: readonly string[] = []): string[] {
  return [
    ...sourceArgs,
    ...frameArgs,
    ...(seekSec === undefined || seekSec <= 0 ? [] : ['-ss', seekSec.toFixed(6)]),
    ...limits,
    '-i',
    source,
  ];
}

/**
 * Before an input whose frames go through `firstFilters`. Continues with the same filters where a frame has another
 * size or format: a new graph would count from time 0 again, so the stream would repeat itself. Takes a matrix that
 * filters refuse from the frames, and reads transparency.
 */
export function decodeArgs(
  format: Pick<FrameFormat, 'isUpright' | 'pixelFormat' | 'refusedMatrix' | 'decoder'>,
): string[] {
  const decoder = format.decoder === null ? [] : ['-c:v', format.decoder];
  return [...decoder, ...matrixArgs(format), ...(isFitted(format) ? ['-reinit_filter', '0'] : [])];
}

/** Before an input: decodes its video without the matrix that it states. */
export function matrixArgs({ refusedMatrix }: Pick<FrameFormat, 'refusedMatrix'>): string[] {
  if (refusedMatrix === null) return [];
  const { bitstreamFilter } = refusedMatrix;
  return ['-colorspace:v', 'unknown', ...(bitstreamFilter === null ? [] : ['-bsf:v', bitstreamFilter])];
}

/** Reads the lines of `-progress`: calls `onSec` with the seconds that are written, and keeps the frame count. */
export class ProgressReader {
  frames = 0;
  readonly #onSec: (sec: number) => void;

  constructor(onSec: (sec: number) => void) {
    this.#onSec = onSec;
  }

  readonly line = (line: string): void => {
    const [key = '', value = ''] = line.split('=');
    if (key === 'frame' && /^\d+$/.test(value)) this.frames = Number(value);
    if (key === 'out_time_us' && /^-?\d+$/.test(value)) this.#onSec(Number(value) / 1e6);
  };
}

/** Guarded arguments that open the source of a chunk with its own timestamps, within further `limits`. */
export function chunkInputArgs(source: string, limits: readonly string[]): string[] {
  return ['-copyts', ...chunkGuardArgs, ...frameArgs, ...limits, '-i', source];
}
