import { KnownProblem } from '#domain/errors.ts';
import type { SourceFound } from '#domain/job-types/shared-results.ts';
import { displaySizeOf, framePixelsMax, type FrameSize, frameSideMax } from '#domain/media/frame-size.ts';
import { type Rational, rational } from '#domain/media/rational.ts';
import {
  alphaDecoders,
  type ColorMatrix,
  type FrameFormat,
  matrixRemovers,
  type RefusedMatrix,
  type StoredFrame,
  widePrimaries,
} from '../tools/video-filters.ts';
import { type FfprobeStream, isProtected, protectedProblem, spanOf } from './ffprobe-document.ts';
import type { ProbedStreams } from './streams.ts';

type Hdr = NonNullable<SourceFound['video']>['hdr'];

/** The video stream of a source as its headers describe it; its size is the one that is shown. */
export interface ProbedVideo extends FrameSize {
  readonly streamIndex: number;
  readonly codec: string;
  readonly averageRate: Rational | null;
  /** Degrees clockwise. */
  readonly rotation: number;
  /** Whether the display matrix mirrors the frame too. */
  readonly isMirrored: boolean;
  readonly hdr: Hdr;
  readonly pixelFormat: string;
  readonly isFlaggedInterlaced: boolean;
  readonly isFullRange: boolean;
  readonly matrix: ColorMatrix;
  readonly refusedMatrix: RefusedMatrix | null;
  readonly widePrimaries: FrameFormat['widePrimaries'];
  readonly hasAlpha: boolean;
  readonly decoder: FrameFormat['decoder'];
  /** Neither turned nor mirrored when it is shown. */
  readonly isUpright: boolean;
  readonly stored: StoredFrame;
  /** From the start of the file, in seconds; the end is null when no header states it. */
  readonly startSec: number;
  readonly endSec: number | null;
}

/**
 * Reads the video stream of a source that must have one.
 *
 * @throws KnownProblem `no_video_stream`, `unsupported_media`, `corrupt_input`, `limit_exceeded`
 */
export function readVideoStream({ video: stream, startSec }: ProbedStreams): ProbedVideo {
  if (stream === null) throw new KnownProblem('no_video_stream');
  const { width = 0, height = 0, codec_name: codec } = stream;
  if (isProtected(stream)) throw protectedProblem();
  if (codec === undefined || codec === 'none' || codec === 'unknown') {
    throw new KnownProblem('unsupported_media', 'The codec of the video stream is not supported.');
  }
  if (width < 1 || height < 1) throw new KnownProblem('corrupt_input', 'The size of the video could not be read.');
  if (width * height > framePixelsMax || Math.max(width, height) > frameSideMax) {
    const limits = `${framePixelsMax} pixels or ${frameSideMax} on a side`;
    throw new KnownProblem('limit_exceeded', `The video is larger than ${limits}.`);
  }
  const hdr = hdrOf(stream);
  if (hdr === 'dolby_vision') {
    throw new KnownProblem('unsupported_media', 'Dolby Vision without a base layer (profile 5) is not supported.');
  }
  const rotation = rotationOf(stream);
  const isMirrored = mirrors(stream);
  const sampleAspect = aspectOf(stream.sample_aspect_ratio);
  const size = displaySizeOf({ width, height, sampleAspect, rotation });
  const decoder = alphaDecoderOf(stream);
  const pixelFormat = decoder === null ? (stream.pix_fmt ?? 'unknown') : 'yuva420p';
  return {
    streamIndex: stream.index,
    codec,
    ...size,
    averageRate: rateOf(stream.avg_frame_rate) ?? rateOf(stream.r_frame_rate),
    rotation,
    isMirrored,
    hdr,
    pixelFormat,
    isFlaggedInterlaced: ['tt', 'bb', 'tb', 'bt'].includes(stream.field_order ?? ''),
    isFullRange: stream.color_range === 'pc' || pixelFormat.startsWith('yuvj'),
    matrix: matrixOf(stream, Math.min(size.width, size.height)),
    refusedMatrix: refusedMatrixOf(stream),
    widePrimaries: widePrimaries.find((wide) => wide === stream.color_primaries) ?? null,
    hasAlpha: alphaFormats.test(pixelFormat) ? !withoutAlpha.includes(codec) : isPng(codec) && pixelFormat === 'pal8',
    decoder,
    isUpright: rotation === 0 && !isMirrored,
    stored: { width, height, sampleAspect },
    ...spanOf(stream, startSec),
  };
}

/** Degrees clockwise, from the display matrix (counterclockwise there): ffmpeg turns frames by it, and not by a tag. */
function rotationOf({ side_data_list: sideData }: FfprobeStream): number {
  const matrix = sideData.find(({ side_data_type: type }) => type === 'Display Matrix');
  const clockwise = -(matrix?.rotation ?? 0);
  return (((Math.round(clockwise / 90) * 90) % 360) + 360) % 360;
}

/** Whether the determinant of the display matrix is negative. ffprobe prints a line for each row, with its address. */
function mirrors({ side_data_list: sideData }: FfprobeStream): boolean {
  const matrix = sideData.find(({ side_data_type: type }) => type === 'Display Matrix');
  const rows = matrix?.displaymatrix?.split('\n') ?? [];
  const [[a = 0, b = 0] = [], [c = 0, d = 0] = []] = rows
    .filter((row) => row.includes(':'))
    .map((row) => row.replace(/^.*:/, '').trim().split(/\s+/).map(Number));
  return a * d - b * c < 0;
}

/** Base layers of Dolby Vision by `dv_bl_signal_compatibility_id`, for streams without a transfer of their own. */
const dolbyBaseLayers: Readonly<Record<number, Hdr>> = { 1: 'pq', 4: 'hlg' };

function hdrOf({ color_transfer: transfer, side_data_list: sideData }: FfprobeStream): Hdr {
  const dolby = sideData.find(({ side_data_type: type }) => type === 'DOVI configuration record');
  const compatibility = dolby?.dv_bl_signal_compatibility_id ?? 0;
  const profile = dolby?.dv_profile;
  // These have no base layer that an ordinary decoder shows in its colours; the others have PQ, HLG or SDR.
  if (profile === 5 || (profile === 10 && compatibility === 0)) return 'dolby_vision';
  if (transfer === 'smpte2084') return 'pq';
  if (transfer === 'arib-std-b67') return 'hlg';
  return transfer === undefined ? (dolbyBaseLayers[compatibility] ?? 'none') : 'none';
}

const matrixNames: Readonly<Record<string, ColorMatrix>> = {
  bt709: 'bt709',
  smpte170m: 'bt601',
  bt470bg: 'bt601',
  bt2020nc: 'bt2020',
  fcc: 'fcc',
  smpte240m: 'smpte240m',
};

/** Names of ffprobe for RGB and for no matrix. */
const withoutMatrix = ['gbr', 'unknown', 'unspecified'];

function refusedMatrixOf({ color_space: tagged, codec_name: codec }: FfprobeStream): RefusedMatrix | null {
  if (tagged === undefined || matrixNames[tagged] !== undefined || withoutMatrix.includes(tagged)) return null;
  const removers: Readonly<Record<string, string>> = matrixRemovers;
  return { bitstreamFilter: tagged === 'reserved' ? (removers[codec ?? ''] ?? null) : null };
}

/** An untagged video of standard definition is BT.601 and a larger one BT.709, as in players. */
function matrixOf({ color_space: tagged }: FfprobeStream, shortSide: number): ColorMatrix {
  return matrixNames[tagged ?? ''] ?? (shortSide <= 576 ? 'bt601' : 'bt709');
}

/** WebM marks a video whose packets have a second layer, of opacity. */
function alphaDecoderOf({ codec_name: codec, tags }: FfprobeStream): FrameFormat['decoder'] {
  if (tags['alpha_mode'] !== '1' || (codec !== 'vp8' && codec !== 'vp9')) return null;
  return alphaDecoders[codec];
}

/** Palettes of other codecs have no opacity. */
function isPng(codec: string): boolean {
  return codec === 'png' || codec === 'apng';
}

const alphaFormats = /^(yuva|gbrap|rgba|bgra|argb|abgr|ya\d)/;
/** ffmpeg makes transparent pixels of a GIF white; the fourth byte of uncompressed pixels often means nothing. */
const withoutAlpha = ['gif', 'rawvideo'];

/** Width of a pixel over its height, as ffprobe writes it (`64:45`); 1 where it is unknown. */
export function aspectOf(ratio: string | undefined): number {
  const [num = 0, den = 0] = (ratio ?? '').split(':').map(Number);
  return num > 0 && den > 0 ? num / den : 1;
}

function rateOf(written: string | undefined): Rational | null {
  const [num = 0, den = 0] = (written ?? '').split('/').map(Number);
  return num > 0 && den > 0 ? rational(num, den) : null;
}
