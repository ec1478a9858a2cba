import { evenDown, type FrameSize } from '#domain/media/frame-size.ts';

/** Filters for every frame that is taken from a video, so that covers, previews and streams look alike. */

/** The field of an interlaced frame that comes first: top or bottom. */
export type FieldOrder = 'progressive' | 'tff' | 'bff';

/** The matrix that brought RGB to the stream's YUV. */
export type ColorMatrix = 'bt601' | 'bt709' | 'bt2020' | 'fcc' | 'smpte240m';

/**
 * Primaries of SDR with more colours than BT.709 has, by the names of ffprobe and zscale. Primaries of standard
 * definition are shown as BT.709 by all players.
 */
export const widePrimaries = ['bt2020', 'smpte431', 'smpte432'] as const;

/** The properties of a frame that the filters need to know. */
export interface FrameFormat {
  /** The kind of HDR to map to SDR; null for SDR, and where this ffmpeg cannot map it. */
  readonly toneMap: 'pq' | 'hlg' | null;
  readonly fieldOrder: FieldOrder;
  readonly matrix: ColorMatrix;
  readonly refusedMatrix: RefusedMatrix | null;
  readonly isFullRange: boolean;
  /** Null for BT.709 and whatever is shown as BT.709. */
  readonly widePrimaries: (typeof widePrimaries)[number] | null;
  /** By ffmpeg's name. */
  readonly pixelFormat: string;
  /** Whether some of its pixels may be transparent. */
  readonly hasAlpha: boolean;
  /** The decoder to name, where ffmpeg's choice does not read transparency; null for that choice. */
  readonly decoder: AlphaDecoder | null;
  /** Whether this ffmpeg has zscale. */
  readonly hasZscale: boolean;
  readonly stored: StoredFrame;
  /** Neither turned nor mirrored when it is shown. */
  readonly isUpright: boolean;
}

/**
 * A matrix that the stream states and no filter converts; the frames are taken for such without one. Null for any
 * other.
 */
export interface RefusedMatrix {
  /** Removes the number before decoding, since ffmpeg makes no filters at all for a frame with it. */
  readonly bitstreamFilter: string | null;
}

/** Removes the stated matrix of a codec (ITU-T H.273, 8.3) from its bitstream, with ffmpeg 7.1 and later. */
export const matrixRemovers = {
  h264: 'h264_metadata=matrix_coefficients=2',
  hevc: 'hevc_metadata=matrix_coefficients=2',
  mpeg2video: 'mpeg2_metadata=matrix_coefficients=2',
  av1: 'av1_metadata=matrix_coefficients=2',
  vp9: 'vp9_metadata=color_space=unknown',
} as const;

/** Decoders that read the transparency that WebM stores beside the packets, by the codec. */
export const alphaDecoders = { vp8: 'libvpx', vp9: 'libvpx-vp9' } as const;
type AlphaDecoder = (typeof alphaDecoders)[keyof typeof alphaDecoders];

/** A frame before it is turned and before its pixels are made square. */
export interface StoredFrame extends FrameSize {
  /** Width of a pixel over its height. */
  readonly sampleAspect: number;
}

type Matrix = Pick<FrameFormat, 'toneMap' | 'matrix' | 'isFullRange'>;

/** Shapes that differ by less are one shape: containers round the aspect of pixels. */
const sameAspectWithin = 0.02;

/**
 * Whether frames of another size are fitted into the stored one. Where ffmpeg turns them before our filters, and in
 * rare formats, the filters are made again instead.
 */
export function isFitted({ isUpright, pixelFormat }: Pick<FrameFormat, 'isUpright' | 'pixelFormat'>): boolean {
  return isUpright && planarYuv.test(pixelFormat);
}

/** Before all other filters: brings frames to one size, without transparency. */
export function firstFilters(
  format: Pick<FrameFormat, 'stored' | 'isUpright' | 'pixelFormat' | 'hasAlpha' | 'refusedMatrix'>,
): string[] {
  return [...matrixFilters(format), ...paletteFilters(format), ...oneSizeFilters(format), ...opaqueFilters(format)];
}

/** A palette has no matrix: `scale` would apply the one that it is given to its colors. */
function paletteFilters({ pixelFormat, hasAlpha }: Pick<FrameFormat, 'pixelFormat' | 'hasAlpha'>): string[] {
  return pixelFormat === 'pal8' && !hasAlpha ? ['format=rgb24'] : [];
}

/** Before all other filters: removes a matrix that they refuse, where the decoder still states it. */
export function matrixFilters({ refusedMatrix }: Pick<FrameFormat, 'refusedMatrix'>): string[] {
  return refusedMatrix === null ? [] : ['setparams=colorspace=unknown'];
}

/** Lays frames over black, as players do: what is transparent may have any colour underneath. */
function opaqueFilters({ hasAlpha, pixelFormat }: Pick<FrameFormat, 'hasAlpha' | 'pixelFormat'>): string[] {
  if (!hasAlpha) return [];
  const planar = pixelFormat.startsWith('yuva') ? 'yuva444p' : 'gbrap';
  return [`format=${['', '10le', '12le', '16le'].map((depth) => planar + depth).join('|')}`, 'premultiply=inplace=1'];
}

/**
 * Fits frames of another size into the stored one, with black around them, as broadcasts and recordings of calls need.
 * `decodeArgs` goes with it.
 */
function oneSizeFilters(format: Pick<FrameFormat, 'stored' | 'isUpright' | 'pixelFormat'>): string[] {
  if (!isFitted(format)) return [];
  const { width, height, sampleAspect } = format.stored;
  const aspect = (width / height) * sampleAspect;
  const isSame = `lt(abs(dar/${aspect.toFixed(6)}-1),${sameAspectWithin})`;
  const [padWidth, padHeight] = [evenDown(width), evenDown(height)];
  const fit = (side: number, other: string) => `'if(${isSame},${side},trunc(min(${side},${other})/2)*2)'`;
  const fitted = `w=${fit(padWidth, `${height}*dar/${sampleAspect}`)}:h=${fit(padHeight, `${width}*${sampleAspect}/dar`)}`;
  return [
    `scale=${fitted}:eval=frame:flags=bicubic+accurate_rnd+full_chroma_int`,
    // `pad` rounds sides down by the chroma samples, and then refuses frames that are larger.
    `pad=w=${padWidth}:h=${padHeight}:x=-1:y=-1:eval=frame`,
  ];
}

/** Deinterlaces: one frame for each two fields. */
export function deinterlaceFilters({ fieldOrder }: Pick<FrameFormat, 'fieldOrder'>): string[] {
  return fieldOrder === 'progressive' ? [] : [`bwdif=mode=send_frame:parity=${fieldOrder}:deint=all`];
}

/** HDR's reference white in cd/m² (ITU-R BT.2408), for PQ and HLG alike. */
const referenceWhite = 203;

/**
 * Tone mapping of linear light in which reference white is 1: unchanged up to half of it, then compressed up to five
 * times reference white (1,000 cd/m²). Reference white becomes 89 % of SDR white.
 */
const toneMapFilter = 'tonemap=tonemap=mobius:param=0.5:peak=5:desat=0';

const hdrTransfers = { pq: 'smpte2084', hlg: 'arib-std-b67' } as const;

/** Maps HDR to SDR in BT.709 at `size`, since tone mapping costs time for each pixel. SDR is left as it is. */
export function toneMapFilters({ toneMap }: Pick<FrameFormat, 'toneMap'>, size: FrameSize): string[] {
  if (toneMap === null) return [];
  const scaled = `zscale=w=${size.width}:h=${size.height}:filter=bicubic`;
  return [
    `${scaled}:tin=${hdrTransfers[toneMap]}:min=2020_ncl:pin=2020:t=linear:npl=${referenceWhite}`,
    'format=gbrpf32le',
    'zscale=p=709',
    toneMapFilter,
    'zscale=t=709:m=709:p=709:r=limited',
    'format=yuv420p',
  ];
}

/** By zscale's names, or the codes of ITU-T H.273 where the name differs between versions. */
const zscaleMatrices = {
  bt601: '170m',
  bt709: '709',
  bt2020: '2020_ncl',
  fcc: 'fcc',
  smpte240m: '7',
} as const satisfies Record<ColorMatrix, string>;

/** Formats that zscale takes as they are; any other would be converted before it, by an unknown matrix. */
const planarYuv = /^yuvj?4(20|22|44)p(10le|12le)?$/;

/** Whether `standardFilters` converts the frame, so that scaling need not. */
function isConvertedOnce(format: FrameFormat): boolean {
  const { toneMap, matrix, isFullRange, pixelFormat, hasZscale } = format;
  const isStandard = matrix === 'bt709' && !isFullRange && format.widePrimaries === null;
  return toneMap === null && !isStandard && hasZscale && planarYuv.test(pixelFormat) && hasEvenSides(format);
}

/** zscale refuses odd sides with fewer colour samples; frames that are fitted have even ones. */
function hasEvenSides(format: FrameFormat): boolean {
  return isFitted(format) || (format.stored.width % 2 === 0 && format.stored.height % 2 === 0);
}

/** As `standardFilters` leaves it. */
function standardised(format: FrameFormat): FrameFormat {
  return isConvertedOnce(format) ? { ...format, matrix: 'bt709', isFullRange: false, widePrimaries: null } : format;
}

/**
 * Converts SDR to the primaries and the matrix of BT.709 and limited range, for all rungs at once. swscale knows no
 * primaries, so that the colours of Display P3 and BT.2020 would be pale. It converts a matrix through RGB:
 * in each of four rungs of a video in BT.601 that took more time than encoding it with a fast preset.
 */
export function standardFilters(format: FrameFormat): string[] {
  if (!isConvertedOnce(format)) return [];
  const input = `min=${zscaleMatrices[format.matrix]}:rin=${format.isFullRange ? 'full' : 'limited'}`;
  // The transfer stays as it is; zscale needs it named.
  return [`zscale=${input}:tin=709:pin=${format.widePrimaries ?? '709'}:m=709:t=709:p=709:r=limited`];
}

/** Scales to `size` with square pixels, as SDR in BT.709, limited range, 8-bit 4:2:0, and tags the stream so. */
export function toStreamFilters(format: FrameFormat, size: FrameSize): string[] {
  return [
    scaleFilter(standardised(format), size, 'out_color_matrix=bt709:out_range=limited'),
    'setsar=1',
    'format=yuv420p',
    'setparams=color_primaries=bt709:color_trc=bt709:colorspace=bt709:range=limited',
  ];
}

/** Scales HDR to `size` with square pixels, as it is but in 10-bit 4:2:0, limited range, and tags the stream so. */
export function toHdrStreamFilters(
  { isFullRange }: Matrix,
  range: 'pq' | 'hlg',
  { width, height }: FrameSize,
): string[] {
  const scaled = `scale=w=${width}:h=${height}:flags=bicubic+accurate_rnd+full_chroma_int`;
  return [
    `${scaled}:in_color_matrix=bt2020:in_range=${isFullRange ? 'full' : 'limited'}:out_color_matrix=bt2020:out_range=limited`,
    'setsar=1',
    'format=yuv420p10le',
    `setparams=color_primaries=bt2020:color_trc=${hdrTransfers[range]}:colorspace=bt2020nc:range=limited`,
  ];
}

/** Scales to `size` with square pixels, as RGB for a still image. */
export function toStillFilters(format: FrameFormat, size: FrameSize): string[] {
  const toRgb = ['setsar=1', 'format=rgb24'];
  // Everything else is converted by the scaling, which is cheaper for a few frames.
  if (format.widePrimaries === null) return [scaleFilter(format, size, ''), ...toRgb];
  return [...standardFilters(format), scaleFilter(standardised(format), size, ''), ...toRgb];
}

/** The matrix is always named: swscale assumes BT.601 for untagged sources, also in high definition. */
function scaleFilter({ toneMap, matrix, isFullRange }: Matrix, { width, height }: FrameSize, out: string): string {
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
 * Removes side data from the frames. Encoders would copy it to the output: mastering brightness that is no longer true,
 * and captions that no playlist names.
 */
export const plainFramesFilter = 'sidedata=mode=delete';
