import { z } from 'zod';
import { KnownProblem } from '#domain/errors.ts';
import type { SourceFound, Warning } from '#domain/job-types/shared-results.ts';
import type { AudioSource } from '#domain/media/audio-plan.ts';
import { displaySizeOf, type FrameSize } from '#domain/media/frame-size.ts';
import { type Rational, rational } from '#domain/media/rational.ts';
import { pixelsMax } from '../tools/ffmpeg.ts';

/** What ffprobe says of a file, and what is read out of it: pure, so that every odd source is a row of a test. */

const text = z.string().optional();
const integer = z.int().optional().catch(undefined);

const streamSchema = z.object({
  index: z.int(),
  codec_type: text,
  codec_name: text,
  width: integer,
  height: integer,
  sample_aspect_ratio: text,
  pix_fmt: text,
  field_order: text,
  color_range: text,
  color_space: text,
  color_transfer: text,
  avg_frame_rate: text,
  r_frame_rate: text,
  start_time: text,
  duration: text,
  channels: integer,
  channel_layout: text,
  sample_rate: text,
  disposition: z.record(z.string(), z.number()).default({}),
  tags: z.record(z.string(), z.string()).default({}),
  side_data_list: z.array(z.looseObject({ side_data_type: text })).default([]),
});
type Stream = z.infer<typeof streamSchema>;

const probeSchema = z.object({
  streams: z.array(streamSchema).default([]),
  format: z.object({ format_name: z.string(), start_time: text, duration: text }),
});
export type ProbeDocument = z.infer<typeof probeSchema>;

/** Reads ffprobe's JSON. @throws ZodError, SyntaxError */
export function parseProbe(json: string): ProbeDocument {
  return probeSchema.parse(JSON.parse(json));
}

export type Hdr = SourceFound['video']['hdr'];
export type ColorMatrix = 'bt601' | 'bt709' | 'bt2020' | 'fcc' | 'smpte240m';

/** The video stream of a source as its headers have it. */
export interface ProbedVideo extends FrameSize {
  readonly streamIndex: number;
  readonly codec: string;
  readonly averageRate: Rational | null;
  readonly rotation: number;
  readonly hdr: Hdr;
  readonly pixelFormat: string;
  readonly isFlaggedInterlaced: boolean;
  readonly isFullRange: boolean;
  readonly matrix: ColorMatrix;
  /** Against the start of the file, in seconds; the end is null when no header says it. */
  readonly startSec: number;
  readonly endSec: number | null;
}

export interface ProbedAudio extends AudioSource {
  readonly codec: string;
  readonly sampleRate: number;
  readonly endSec: number | null;
}

export interface ProbedSource {
  readonly container: string;
  /** Of the whole file; null when no header says it. */
  readonly durationSec: number | null;
  readonly video: ProbedVideo;
  readonly audio: readonly ProbedAudio[];
  readonly warnings: readonly Warning[];
}

const streamsMax = 64;
const sideMax = 16_384;

/**
 * What a source holds, from its headers alone. The video stream is the first that the file marks as default, else the
 * first; attached pictures are none.
 *
 * @throws KnownProblem `no_video_stream`, `unsupported_media`, `limit_exceeded`
 */
export function readSource({ format, streams }: ProbeDocument): ProbedSource {
  if (streams.length > streamsMax) {
    throw new KnownProblem('limit_exceeded', `The source has more than ${streamsMax} streams.`);
  }
  const moving = streams.filter((stream) => stream.codec_type === 'video' && !isPicture(stream));
  const chosen = moving.find((stream) => stream.disposition['default'] === 1) ?? moving[0];
  if (chosen === undefined) throw new KnownProblem('no_video_stream');
  const fileStartSec = seconds(format.start_time) ?? 0;
  const { audio, warnings } = readAudio(streams, fileStartSec);
  return {
    container: format.format_name.split(',')[0] ?? '',
    durationSec: positive(seconds(format.duration)),
    video: readVideo(chosen, fileStartSec),
    audio,
    warnings: [...warnings, ...subtitleWarnings(streams)],
  };
}

function isPicture({ disposition }: Stream): boolean {
  return disposition['attached_pic'] === 1 || disposition['timed_thumbnails'] === 1;
}

function readVideo(stream: Stream, fileStartSec: number): ProbedVideo {
  const { width = 0, height = 0, codec_name: codec } = stream;
  if (codec === undefined || codec === 'none' || codec === 'unknown') {
    throw new KnownProblem('unsupported_media', 'The codec of the video stream is not supported.');
  }
  if (width < 1 || height < 1) throw new KnownProblem('corrupt_input', 'The size of the picture could not be read.');
  if (width * height > pixelsMax || Math.max(width, height) > sideMax) {
    throw new KnownProblem('limit_exceeded', `The picture is larger than ${pixelsMax} pixels or ${sideMax} on a side.`);
  }
  const rotation = rotationOf(stream);
  const size = displaySizeOf({ width, height, sampleAspect: aspectOf(stream), rotation });
  return {
    streamIndex: stream.index,
    codec,
    ...size,
    averageRate: rateOf(stream.avg_frame_rate) ?? rateOf(stream.r_frame_rate),
    rotation,
    hdr: hdrOf(stream),
    pixelFormat: stream.pix_fmt ?? 'unknown',
    isFlaggedInterlaced: ['tt', 'bb', 'tb', 'bt'].includes(stream.field_order ?? ''),
    isFullRange: stream.color_range === 'pc' || (stream.pix_fmt ?? '').startsWith('yuvj'),
    matrix: matrixOf(stream, Math.min(size.width, size.height)),
    ...spanOf(stream, fileStartSec),
  };
}

function readAudio(streams: readonly Stream[], fileStartSec: number): { audio: ProbedAudio[]; warnings: Warning[] } {
  const audio: ProbedAudio[] = [];
  const warnings: Warning[] = [];
  for (const stream of streams.filter(({ codec_type: type }) => type === 'audio')) {
    const { codec_name: codec, channels = 0, disposition, tags } = stream;
    const sampleRate = Number(stream.sample_rate ?? 0);
    if (codec === undefined || codec === 'none' || codec === 'unknown' || channels < 1 || !(sampleRate > 0)) {
      const message = `Audio stream ${stream.index} is of a kind that is not supported and was left out.`;
      warnings.push({ code: 'audio_track_skipped', message });
      continue;
    }
    const layout = stream.channel_layout;
    audio.push({
      streamIndex: stream.index,
      codec,
      channels,
      sampleRate,
      channelLayout: layout === undefined || layout === 'unknown' ? null : layout,
      language: tags['language'] ?? tags['LANGUAGE'],
      title: tags['title'] ?? (isGenericHandler(tags['handler_name']) ? undefined : tags['handler_name']),
      isDefault: disposition['default'] === 1,
      role: audioRoleOf(disposition),
      endSec: spanOf(stream, fileStartSec).endSec,
    });
  }
  return { audio, warnings };
}

/** What muxers write there when nobody named the track. */
function isGenericHandler(name: string | undefined): boolean {
  return name === undefined || /handler|^(core media|mainconcept|gpac|bento4)|audio$/i.test(name);
}

function audioRoleOf(disposition: Readonly<Record<string, number>>): ProbedAudio['role'] {
  if (disposition['visual_impaired'] === 1) return 'description';
  if (disposition['comment'] === 1) return 'commentary';
  return disposition['dub'] === 1 ? 'dub' : null;
}

function subtitleWarnings(streams: readonly Stream[]): Warning[] {
  const count = streams.filter(({ codec_type: type }) => type === 'subtitle').length;
  if (count === 0) return [];
  return [{ code: 'subtitles_left_out', message: `The source has ${count} subtitle tracks, which were left out.` }];
}

/** When a stream is there, against the start of the file. Matroska keeps its duration in a tag. */
function spanOf(stream: Stream, fileStartSec: number): { startSec: number; endSec: number | null } {
  const startSec = Math.max(0, (seconds(stream.start_time) ?? fileStartSec) - fileStartSec);
  const tagged = clock(stream.tags['DURATION'] ?? stream.tags['DURATION-eng']);
  const durationSec = positive(seconds(stream.duration));
  if (durationSec !== null) return { startSec, endSec: startSec + durationSec };
  // Matroska's tag is the time of the end, not a length.
  return { startSec, endSec: tagged === null ? null : Math.max(0, tagged - Math.max(0, fileStartSec)) };
}

/** Degrees clockwise, from the display matrix (counterclockwise there) or, in old files, a tag. */
function rotationOf({ side_data_list: sideData, tags }: Stream): number {
  const matrix = sideData.find(({ side_data_type: type }) => type === 'Display Matrix');
  const counterclockwise = Number(matrix?.['rotation'] ?? Number.NaN);
  const clockwise = Number.isFinite(counterclockwise) ? -counterclockwise : Number(tags['rotate'] ?? 0);
  if (!Number.isFinite(clockwise)) return 0;
  return (((Math.round(clockwise / 90) * 90) % 360) + 360) % 360;
}

function hdrOf({ color_transfer: transfer, side_data_list: sideData }: Stream): Hdr {
  const dolby = sideData.find(({ side_data_type: type }) => type === 'DOVI configuration record');
  // Profile 5 has no base layer that anything else could show; the others carry PQ, HLG or SDR.
  if (dolby !== undefined && dolby['dv_profile'] === 5) return 'dolby_vision';
  if (transfer === 'smpte2084') return 'pq';
  return transfer === 'arib-std-b67' ? 'hlg' : 'none';
}

const matrixNames: Readonly<Record<string, ColorMatrix>> = {
  bt709: 'bt709',
  smpte170m: 'bt601',
  bt470bg: 'bt601',
  bt2020nc: 'bt2020',
  bt2020c: 'bt2020',
  fcc: 'fcc',
  smpte240m: 'smpte240m',
};

/** An untagged picture of standard definition is BT.601, a larger one BT.709, as players take it. */
function matrixOf({ color_space: tagged }: Stream, shortSide: number): ColorMatrix {
  return matrixNames[tagged ?? ''] ?? (shortSide <= 576 ? 'bt601' : 'bt709');
}

function aspectOf({ sample_aspect_ratio: ratio }: Stream): number {
  const [num = 0, den = 0] = (ratio ?? '').split(':').map(Number);
  return num > 0 && den > 0 ? num / den : 1;
}

function rateOf(written: string | undefined): Rational | null {
  const [num = 0, den = 0] = (written ?? '').split('/').map(Number);
  return num > 0 && den > 0 ? rational(num, den) : null;
}

function seconds(written: string | undefined): number | null {
  const value = Number(written ?? Number.NaN);
  return Number.isFinite(value) ? value : null;
}

function positive(value: number | null): number | null {
  return value !== null && value > 0 ? value : null;
}

function clock(written: string | undefined): number | null {
  const [, hours, minutes, sec] = /^(\d+):(\d\d):(\d\d(?:\.\d+)?)/.exec(written ?? '') ?? [];
  return sec === undefined ? null : Number(hours) * 3600 + Number(minutes) * 60 + Number(sec);
}
