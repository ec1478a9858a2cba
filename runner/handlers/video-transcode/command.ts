import type { FrameSize } from '#domain/media/frame-size.ts';
import type { Grid } from '#domain/media/grid.ts';
import type { Rung } from '#domain/media/ladder.ts';
import type { EncodingProfile } from '#domain/media/encoding-profile.ts';
import type { SubtitlePlan } from '#domain/media/subtitle-plan.ts';
import { type Rational, showRational } from '#domain/media/rational.ts';
import type { Command } from '#platform/commands/command.ts';
import type { VideoSource } from '../../source/examine-video.ts';
import { fragmentedMp4Args, decodeArgs, inputArgs, matrixArgs, noMetadataArgs, quietArgs } from '../../tools/ffmpeg.ts';
import type { Mastering } from '../../source/mastering.ts';
import { encoderArgs } from './encoders.ts';
import type { FrameSpan } from './frame-span.ts';
import { type Mark, markGraph, markInputArgs } from './watermark.ts';
import {
  deinterlaceFilters,
  firstFilters,
  type FrameFormat,
  matrixFilters,
  plainFramesFilter,
  standardFilters,
  toHdrStreamFilters,
  toneMapFilters,
  toStreamFilters,
} from '../../tools/video-filters.ts';

/** A rendition and its output file. */
export interface Output<T> {
  readonly track: T;
  readonly path: string;
}

/** A rung, and the watermark that lies over it. */
export type MarkedRung = Output<Rung> & { readonly mark?: Mark };

interface VideoEncode {
  readonly source: Pick<VideoSource, 'path' | 'video' | 'audio'>;
  readonly grid: Grid;
  readonly span: Pick<FrameSpan, 'frames' | 'heldFrames'>;
  readonly rungs: readonly MarkedRung[];
  readonly profile: EncodingProfile;
  /** The mastering of a source that stays HDR. */
  readonly mastering: Mastering | null;
  readonly isEncrypted: boolean;
}

export const progressArgs = ['-progress', 'pipe:1', '-stats_period', '0.5'] as const;
/** ffmpeg's exit code when more than `-max_error_rate` of the packets could not be decoded. */
export const tooManyErrorsExit = 69;
const errorArgs = ['-max_error_rate', '0.05'] as const;

/**
 * One ffmpeg that decodes once and encodes every rung, each on the same grid (docs/reference/media.md, "Grid").
 *
 * `fps` gives a constant rate from time 0 on; a video that begins later keeps its offset by repeating its first frame.
 * The audio streams are read too, so that time 0 is the same here and in the encode of the audio.
 */
export function encodeVideoCommand(program: string, encode: VideoEncode): Command {
  const { source, rungs } = encode;
  return {
    program,
    args: [
      ...quietArgs,
      ...progressArgs,
      ...inputArgs(source.path, 0, decodeArgs(source.video)),
      ...markInputArgs(rungs, encode.grid.rate),
      ...errorArgs,
      '-filter_complex',
      videoGraph(encode),
      ...rungs.flatMap(({ track, path }, index) => [
        '-map',
        `[out${index}]`,
        ...encoderArgs(track, encode),
        ...fragmentedMp4Args,
        path,
      ]),
      ...readAlongArgs(source.audio.map(({ streamIndex }) => streamIndex)),
    ],
  };
}

function videoGraph({ source: { video }, grid, span, rungs }: VideoEncode): string {
  const frames = [
    ...firstFilters(video),
    ...deinterlaceFilters(video),
    ...(video.shiftSec === 0 ? [] : [`setpts=round(PTS+(${video.shiftSec.toFixed(6)})/TB)`]),
    ...(video.isScattered ? [inOrderFilter(video.sourceRate)] : []),
    `fps=fps=${showRational(grid.rate)}:start_time=0`,
    ...(span.heldFrames > 0 ? [`tpad=stop_mode=clone:stop=${span.heldFrames}`] : []),
    // `fps` holds the last frame too where its duration is known.
    `trim=end_frame=${span.frames}`,
  ];
  return rungsGraph(`[0:${video.streamIndex}]`, frames, { video, rungs });
}

/** A frame may lie this far from the place after the one before it, in frames, and is still put there. */
const offPlaceMax = 0.95;

/**
 * Puts each frame at the place after the one before it, in frames of the source's rate, until its time lies about a
 * frame away: `fps` rounds every time by itself, and where times scatter it would repeat some frames and drop others.
 */
function inOrderFilter({ num, den }: Rational): string {
  const isNext = `isnan(PTS)+lt(abs(ld(1)-ld(0)-1),${offPlaceMax})`;
  const place = `if(eq(N,0),round(ld(1)),if(${isNext},ld(0)+1,max(ld(0),round(ld(1)))))`;
  return `setpts='st(1,PTS*TB*${num}/${den});st(0,${place});round(ld(0)*${den}/${num}/TB)'`;
}

/** A graph that takes `frames` of a stream, by its label, and scales them to every rung. */
export function rungsGraph(
  source: string,
  frames: readonly string[],
  { video, rungs }: { readonly video: FrameFormat & FrameSize; readonly rungs: VideoEncode['rungs'] },
): string {
  const indexed = rungs.map(({ track, mark }, index) => ({ track, mark, index }));
  const sdr = indexed.filter(({ track }) => track.range === 'sdr');
  const hdr = indexed.filter(({ track }) => track.range !== 'sdr');
  const largest = sdr.reduce<FrameSize>((most, { track }) => (track.width > most.width ? track : most), {
    width: 0,
    height: 0,
  });
  const toSdr = [...toneMapFilters(video, largest), ...standardFilters(video)];
  const inputs = (branch: typeof indexed) => branch.map(({ index }) => `[in${index}]`).join('');
  const split = (filters: readonly string[], branch: typeof indexed) =>
    [...filters, plainFramesFilter, `split=${branch.length}`].join(',') + inputs(branch);
  const marks = rungs.flatMap(({ mark }) => mark ?? []);
  const branches = indexed.map(({ track, mark, index }) => {
    const filters =
      track.range === 'sdr' ? toStreamFilters(video, track) : toHdrStreamFilters(video, track.range, track);
    const scaled = `[in${index}]${filters.join(',')}`;
    if (mark === undefined) return `${scaled}[out${index}]`;
    const names = { branch: `plain${index}`, out: `out${index}` };
    return `${scaled}[plain${index}];${markGraph(mark, 1 + marks.indexOf(mark), names)}`;
  });
  if (hdr.length === 0) return [source + split([...frames, ...toSdr], sdr), ...branches].join(';');
  if (sdr.length === 0) return [source + split(frames, hdr), ...branches].join(';');
  const both = `${source}${[...frames, 'split=2'].join(',')}[sdr][hdr]`;
  return [both, `[sdr]${split(toSdr, sdr)}`, `[hdr]${split([], hdr)}`, ...branches].join(';');
}

/** Streams that are read and discarded. ffmpeg takes a file's time 0 from the streams in use alone. */
export function readAlongArgs(streamIndexes: readonly number[]): string[] {
  if (streamIndexes.length === 0) return [];
  return [...streamIndexes.flatMap((index) => ['-map', `0:${index}`]), '-c', 'copy', '-f', 'null', '-'];
}

interface SubtitleExtract {
  readonly source: Pick<VideoSource, 'path' | 'video' | 'audio'>;
  readonly tracks: readonly Output<SubtitlePlan>[];
  /** The length of the video; later cues are left out. */
  readonly durationSec: number;
  /** The encoding of their text, where it is not UTF-8. */
  readonly encoding?: string;
}

/**
 * Writes text subtitle streams as WebVTT, in one pass over the source. Video and audio are read too, so that time 0 is
 * the same as in their encode.
 */
export function extractSubtitlesCommand(
  program: string,
  { source: { path: input, video, audio }, tracks, durationSec, encoding }: SubtitleExtract,
): Command {
  const webvtt = ['-c:s', 'webvtt', '-t', durationSec.toFixed(3), '-f', 'webvtt'];
  const outputs = tracks.flatMap(({ track, path }) => {
    const stream = ['-map', `0:${track.streamIndex}`, ...noMetadataArgs];
    return [...stream, ...webvtt, path];
  });
  const others = [video.streamIndex, ...audio.map(({ streamIndex }) => streamIndex)];
  return {
    program,
    args: [
      ...quietArgs,
      ...inputArgs(input, 0, encoding === undefined ? [] : ['-sub_charenc:s', encoding]),
      ...outputs,
      ...readAlongArgs(others),
    ],
  };
}

interface CaptionsCopy {
  readonly source: Pick<VideoSource, 'path' | 'video'>;
  readonly path: string;
}

/**
 * Encodes a video as small as it gets, with the CEA-608 captions inside of its frames and its own times. The filter
 * that reads captions decodes without the limits of a source.
 */
export function copyCaptionsCommand(program: string, { source, path }: CaptionsCopy): Command {
  const small = [...matrixFilters(source.video), 'scale=32:32'].join(',');
  const stream = ['-map', `0:${source.video.streamIndex}`, '-vf', small, '-fps_mode', 'passthrough'];
  const codec = ['-c:v', 'libx264', '-preset', 'ultrafast', '-crf', '51', '-pix_fmt', 'yuv420p', '-a53cc', '1'];
  const output = [...codec, '-enc_time_base', '1:90000', ...noMetadataArgs, '-f', 'nut', path];
  const input = inputArgs(source.path, 0, matrixArgs(source.video));
  return { program, args: [...quietArgs, '-copyts', ...input, ...stream, ...output] };
}

interface CaptionsExtract {
  /** The file that `copyCaptionsCommand` wrote. */
  readonly input: string;
  /** The start of the source. */
  readonly startSec: number;
  readonly path: string;
  /** The length of the video; later cues are left out. */
  readonly durationSec: number;
}

/**
 * Writes the first channel of the CEA-608 captions inside of a copy's frames as WebVTT. ffmpeg reads them by decoding
 * the video in a filter that opens the file itself.
 */
export function extractCaptionsCommand(
  program: string,
  { input, startSec, path, durationSec }: CaptionsExtract,
): Command {
  const movie = `movie=filename=${input}:format_name=nut:format_opts=protocol_whitelist=file`;
  // As for every other track: times are counted from the start of the file.
  const graph = `${movie},setpts=PTS-${startSec.toFixed(6)}/TB[out+subcc]`;
  const output = ['-map', '0:s:0', '-c:s', 'webvtt', '-t', durationSec.toFixed(3), '-f', 'webvtt', path];
  return {
    program,
    args: [...quietArgs, '-copyts', '-data_field', 'first', '-f', 'lavfi', '-i', graph, ...noMetadataArgs, ...output],
  };
}
