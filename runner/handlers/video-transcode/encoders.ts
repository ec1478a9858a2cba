import type { EncodingProfile } from '#domain/media/encoding-profile.ts';
import type { Grid } from '#domain/media/grid.ts';
import type { Rung } from '#domain/media/ladder.ts';
import type { Mastering, MasteringDisplay } from '../../source/mastering.ts';
import { noMetadataArgs } from '../../tools/ffmpeg.ts';

// Arguments of the encoders. Quality is constant below the bitrate of a rung (capped CRF); every GOP is closed and has
// the same length.

type Quality = Pick<EncodingProfile, 'crf' | 'preset'>;
type Encoding = Quality & Pick<EncodingProfile, 'hevc' | 'av1'>;

type CappedRung = Pick<Rung, 'bitrateMax' | 'quality'>;

interface RungEncode {
  readonly grid: Grid;
  readonly profile: Encoding;
  /** The mastering of a source that stays HDR. */
  readonly mastering: Mastering | null;
  /** Whether the packager encrypts the stream. */
  readonly isEncrypted: boolean;
}

/** The encoder of a rung. */
export function encoderArgs(rung: Rung, { grid, profile, mastering, isEncrypted }: RungEncode): string[] {
  const ofHdr = rung.range === 'sdr' ? null : mastering;
  if (rung.codec === 'hevc') return x265Args(rung, grid, profile, ofHdr);
  // The packager cannot encrypt AV1 that has metadata units.
  if (rung.codec === 'av1') return av1Args(rung, grid, profile, isEncrypted ? null : ofHdr);
  return x264Args(rung, grid, profile);
}

/** H.264. */
export function x264Args(rung: CappedRung, { gopFrames }: Grid, { crf, preset }: Quality): string[] {
  const codec = ['-c:v', 'libx264', '-preset', preset, '-profile:v', 'high', '-pix_fmt', 'yuv420p'];
  const gop = ['-g', String(gopFrames), '-keyint_min', String(gopFrames), '-sc_threshold', '0', '-flags', '+cgop'];
  return [...codec, ...rateArgs(crf, rung), ...gop, ...outputArgs];
}

/** HEVC, 10 bits for HDR. */
function x265Args(rung: Rung, { gopFrames }: Grid, { hevc }: Encoding, mastering: Mastering | null): string[] {
  const format = rung.range === 'sdr' ? ['main', 'yuv420p'] : ['main10', 'yuv420p10le'];
  const [profile = '', pixels = ''] = format;
  const params = [
    'log-level=error',
    `keyint=${gopFrames}`,
    `min-keyint=${gopFrames}`,
    'scenecut=0',
    'open-gop=0',
    ...(mastering === null ? [] : x265Mastering(mastering)),
  ];
  const codec = ['-c:v', 'libx265', '-preset', hevc.preset, '-profile:v', profile, '-pix_fmt', pixels];
  // Apple's players refuse `hev1`.
  const tag = ['-tag:v', 'hvc1'];
  return [...codec, ...tag, ...rateArgs(hevc.crf, rung), '-x265-params', params.join(':'), ...outputArgs];
}

/** AV1, 10 bits for HDR. */
function av1Args(rung: Rung, { gopFrames }: Grid, { av1 }: Encoding, mastering: Mastering | null): string[] {
  const pixels = rung.range === 'sdr' ? 'yuv420p' : 'yuv420p10le';
  // `irefresh-type=2`: key frames that begin a closed GOP.
  const params = ['scd=0', 'irefresh-type=2', ...(mastering === null ? [] : av1Mastering(mastering))];
  const codec = ['-c:v', 'libsvtav1', '-preset', String(av1.preset), '-pix_fmt', pixels];
  const gop = ['-g', String(gopFrames), '-svtav1-params', params.join(':')];
  return [...codec, ...rateArgs(av1.crf, rung), ...gop, ...outputArgs];
}

function rateArgs(crf: number, { bitrateMax, quality }: CappedRung): string[] {
  return ['-crf', String(quality?.crf ?? crf), '-maxrate', String(bitrateMax), '-bufsize', String(2 * bitrateMax)];
}

const outputArgs = ['-fps_mode', 'passthrough', ...noMetadataArgs];

type Pair = readonly [number, number];

function scaled(values: Pair, factor: number): string {
  return `(${values.map((value) => Math.round(value * factor)).join(',')})`;
}

function pair(values: Pair): string {
  return `(${values.map((value) => value.toFixed(5)).join(',')})`;
}

function x265Mastering({ display, contentLight }: Mastering): string[] {
  return [
    'hdr10=1',
    ...(display === null ? [] : [`master-display=${x265Display(display)}`]),
    ...(contentLight === null ? [] : [`max-cll=${contentLight.join(',')}`]),
  ];
}

/** In steps of 0.00002 and of 0.0001 cd/m² (SMPTE ST 2086). */
function x265Display({ red, green, blue, white, luminance }: MasteringDisplay): string {
  const [g, b, r, wp] = [green, blue, red, white].map((point) => scaled(point, 50_000));
  return `G${g}B${b}R${r}WP${wp}L${scaled(luminance, 10_000)}`;
}

function av1Mastering({ display, contentLight }: Mastering): string[] {
  return [
    ...(display === null ? [] : [`mastering-display=${av1Display(display)}`]),
    ...(contentLight === null ? [] : [`content-light=${contentLight.join(',')}`]),
  ];
}

function av1Display({ red, green, blue, white, luminance }: MasteringDisplay): string {
  return `G${pair(green)}B${pair(blue)}R${pair(red)}WP${pair(white)}L${pair(luminance)}`;
}
