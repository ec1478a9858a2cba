import type { FrameSize } from '#domain/media/frame-size.ts';
import type { FieldOrder } from '../source/interlacing.ts';
import type { ColorMatrix } from '../source/probe.ts';

/** Filters that every picture taken from a video goes through, so that covers, previews and streams look alike. */

interface Picture {
  /** The kind of HDR that is mapped to SDR; null for SDR, and where this ffmpeg cannot. */
  readonly toneMap: 'pq' | 'hlg' | null;
  readonly fieldOrder: FieldOrder;
  readonly matrix: ColorMatrix;
  readonly isFullRange: boolean;
}

/** Makes whole frames of fields, one for each two. */
export function deinterlaceFilters({ fieldOrder }: Pick<Picture, 'fieldOrder'>): string[] {
  return fieldOrder === 'progressive' ? [] : [`bwdif=mode=send_frame:parity=${fieldOrder}:deint=all`];
}

/** Brightness, in cd/m², that becomes the white of SDR: of PQ, and of HLG on the screen that it is graded for. */
const nominalPeak = { pq: 203, hlg: 1000 } as const;

/**
 * Brings HDR to SDR in BT.709, at `size`, since tone mapping costs by the pixel. SDR goes through untouched.
 * PQ states absolute brightness, HLG a share of the screen's, so they differ in what counts as white.
 */
export function toneMapFilters({ toneMap }: Pick<Picture, 'toneMap'>, size: FrameSize): string[] {
  if (toneMap === null) return [];
  const transfer = toneMap === 'pq' ? 'smpte2084' : 'arib-std-b67';
  return [
    `zscale=w=${size.width}:h=${size.height}:filter=bicubic:tin=${transfer}:min=2020_ncl:pin=2020:t=linear:npl=${nominalPeak[toneMap]}`,
    'format=gbrpf32le',
    'zscale=p=709',
    'tonemap=tonemap=hable:desat=0',
    'zscale=t=709:m=709:p=709:r=limited',
    'format=yuv420p',
  ];
}

/** Scales to `size` with square pixels, as SDR in BT.709, limited range, 8-bit 4:2:0, and says so in the stream. */
export function toStreamFilters(picture: Picture, size: FrameSize): string[] {
  return [
    scaleFilter(picture, size, 'out_color_matrix=bt709:out_range=limited'),
    'setsar=1',
    'format=yuv420p',
    'setparams=color_primaries=bt709:color_trc=bt709:colorspace=bt709:range=limited',
  ];
}

/** Scales to `size` with square pixels, as RGB for a still picture. */
export function toStillFilters(picture: Picture, size: FrameSize): string[] {
  return [scaleFilter(picture, size, ''), 'setsar=1', 'format=rgb24'];
}

/** The matrix is always named: swscale takes what is not tagged for BT.601, also in high definition. */
function scaleFilter({ toneMap, matrix, isFullRange }: Picture, { width, height }: FrameSize, out: string): string {
  const isMapped = toneMap !== null;
  const options = [
    `scale=w=${width}:h=${height}:flags=bicubic+accurate_rnd+full_chroma_int`,
    `in_color_matrix=${isMapped ? 'bt709' : matrix}`,
    ...(isMapped || !isFullRange ? [] : ['in_range=full']),
    ...(out === '' ? [] : [out]),
  ];
  return options.join(':');
}

/**
 * Takes from the frames what they carry beside their pixels. Encoders would write it on: the brightness of a screen that
 * the picture is no longer made for, and captions that no playlist names.
 */
export const plainFramesFilter = 'sidedata=mode=delete';
