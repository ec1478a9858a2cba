import type { AudioPlan } from '#domain/media/audio-plan.ts';
import type { Grid } from '#domain/media/grid.ts';
import type { Rung } from '#domain/media/ladder.ts';
import type { EncodingProfile } from '#domain/media/profiles.ts';
import { showRational } from '#domain/media/rational.ts';
import type { Command } from '#platform/commands/command.ts';
import type { VideoSource } from '../../source/examine-video.ts';
import { fragmentedMp4Args, inputArgs, quietArgs } from '../../tools/ffmpeg.ts';
import type { FrameSpan } from './frame-span.ts';
import {
  deinterlaceFilters,
  plainFramesFilter,
  standardMatrixFilters,
  toneMapFilters,
  toStreamFilters,
} from '../../tools/video-filters.ts';

/** A rendition and its output file. */
interface Output<T> {
  readonly track: T;
  readonly path: string;
}

interface VideoEncode {
  readonly source: Pick<VideoSource, 'path' | 'video' | 'audio'>;
  readonly grid: Grid;
  readonly span: Pick<FrameSpan, 'frames' | 'heldFrames'>;
  /** From small to large. */
  readonly rungs: readonly Output<Rung>[];
  readonly profile: EncodingProfile;
}

const progressArgs = ['-progress', 'pipe:1', '-stats_period', '0.5'] as const;
/** ffmpeg's exit code when more than `-max_error_rate` of the packets could not be decoded. */
export const tooManyErrorsExit = 69;
const noMetadataArgs = ['-map_metadata', '-1', '-map_chapters', '-1'] as const;
const errorArgs = ['-max_error_rate', '0.05'] as const;

/**
 * One ffmpeg that decodes once and encodes every rung, each on the same grid (docs/media.md, "Grid").
 *
 * `fps` gives a constant rate from time 0 on; a video that begins later keeps its offset by repeating its first frame.
 * The audio streams are read too, so that time 0 is the same here and in the encode of the audio.
 */
export function encodeVideoCommand(program: string, encode: VideoEncode): Command {
  const { source, rungs, profile } = encode;
  return {
    program,
    args: [
      ...quietArgs,
      ...progressArgs,
      ...inputArgs(source.path),
      ...errorArgs,
      '-filter_complex',
      videoGraph(encode),
      ...rungs.flatMap(({ track, path }, index) => [
        '-map',
        `[out${index}]`,
        ...x264Args(track, encode.grid, profile),
        ...fragmentedMp4Args,
        path,
      ]),
      ...readAlongArgs(source.audio.map(({ streamIndex }) => streamIndex)),
    ],
  };
}

function videoGraph({ source: { video }, grid, span, rungs }: VideoEncode): string {
  const largest = rungs.at(-1)?.track ?? video;
  const common = [
    ...deinterlaceFilters(video),
    `fps=fps=${showRational(grid.rate)}:start_time=0`,
    ...(span.heldFrames > 0 ? [`tpad=stop_mode=clone:stop=${span.heldFrames}`] : []),
    // `fps` holds the last frame too where its duration is known.
    `trim=end_frame=${span.frames}`,
    ...toneMapFilters(video, largest),
    ...standardMatrixFilters(video),
    plainFramesFilter,
    `split=${rungs.length}`,
  ];
  const branches = rungs.map(
    ({ track }, index) => `[in${index}]${toStreamFilters(video, track).join(',')}[out${index}]`,
  );
  const split = rungs.map((_, index) => `[in${index}]`).join('');
  return [`[0:${video.streamIndex}]${common.join(',')}${split}`, ...branches].join(';');
}

/** Capped CRF: constant quality below the rung's bitrate. Every GOP is closed and has the same length. */
function x264Args({ bitrateMax }: Rung, { gopFrames }: Grid, { crf, preset }: EncodingProfile): string[] {
  const codec = ['-c:v', 'libx264', '-preset', preset, '-profile:v', 'high', '-pix_fmt', 'yuv420p'];
  const rate = ['-crf', String(crf), '-maxrate', String(bitrateMax), '-bufsize', String(2 * bitrateMax)];
  const gop = ['-g', String(gopFrames), '-keyint_min', String(gopFrames), '-sc_threshold', '0', '-flags', '+cgop'];
  return [...codec, ...rate, ...gop, '-fps_mode', 'passthrough', ...noMetadataArgs];
}

/** Streams that are read and discarded. ffmpeg takes a file's time 0 from the streams in use alone. */
function readAlongArgs(streamIndexes: readonly number[]): string[] {
  if (streamIndexes.length === 0) return [];
  return [...streamIndexes.flatMap((index) => ['-map', `0:${index}`]), '-c', 'copy', '-f', 'null', '-'];
}

interface AudioEncode {
  readonly source: Pick<VideoSource, 'path' | 'video' | 'audio'>;
  readonly tracks: readonly Output<AudioPlan>[];
  /** Of every track: as long as the video. */
  readonly samples: number;
  readonly profile: Pick<EncodingProfile, 'audio'>;
}

/** One ffmpeg that encodes every audio track as AAC-LC, stereo. */
export function encodeAudioCommand(program: string, { source, tracks, samples, profile }: AudioEncode): Command {
  const { bitrate, sampleRate, channels } = profile.audio;
  const codec = ['-c:a', 'aac', '-profile:a', 'aac_low', '-b:a', String(bitrate), '-ac', String(channels)];
  const readAlong = [source.video.streamIndex, ...source.audio.map(({ streamIndex }) => streamIndex)];
  return {
    program,
    args: [
      ...quietArgs,
      ...progressArgs,
      ...inputArgs(source.path),
      ...tracks.flatMap(({ track, path }) => [
        '-map',
        `0:${track.streamIndex}`,
        '-af',
        audioFilters(track, samples, sampleRate),
        ...codec,
        ...noMetadataArgs,
        ...fragmentedMp4Args,
        path,
      ]),
      ...readAlongArgs(readAlong),
    ],
  };
}

/**
 * Sound from time 0 on, gaps in its timestamps filled with silence, as long as the video. Channels without a layout
 * cannot be mixed down; the first two become left and right.
 */
function audioFilters({ channels, channelLayout }: AudioPlan, samples: number, sampleRate: number): string {
  return [
    ...(channelLayout === null && channels > 2 ? ['pan=stereo|c0=c0|c1=c1'] : []),
    `aresample=${sampleRate}:async=1:first_pts=0`,
    `aformat=sample_fmts=fltp:sample_rates=${sampleRate}:channel_layouts=stereo`,
    `apad=whole_len=${samples}`,
    `atrim=end_sample=${samples}`,
  ].join(',');
}
