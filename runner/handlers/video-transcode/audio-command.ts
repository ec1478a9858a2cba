import type { AudioPlan } from '#domain/media/audio-plan.ts';
import type { EncodingProfile } from '#domain/media/encoding-profile.ts';
import type { Command } from '#platform/commands/command.ts';
import type { VideoSource } from '../../source/examine-video.ts';
import { chunkInputArgs, fragmentedMp4Args, inputArgs, noMetadataArgs, quietArgs } from '../../tools/ffmpeg.ts';
import { type Output, progressArgs, readAlongArgs } from './command.ts';

/** The file that the audio of a source is read from; `video` is null in an audio-only one. */
export type AudioInput = Pick<VideoSource, 'path' | 'audio'> & {
  readonly video: Pick<VideoSource['video'], 'streamIndex'> | null;
  /** Whether `steadyAudioCommand` wrote it. */
  readonly isSteady?: boolean;
};

interface AudioEncode {
  readonly source: AudioInput;
  /** `gainDb` applies to the whole track. */
  readonly tracks: readonly (Output<AudioPlan> & { readonly gainDb: number })[];
  /** The length of every track: that of the video, if there is one. */
  readonly samples: number;
  readonly profile: Pick<EncodingProfile, 'audio'>;
}

/** One ffmpeg that encodes every audio track as AAC-LC. */
export function encodeAudioCommand(program: string, { source, tracks, samples, profile }: AudioEncode): Command {
  const { bitrate, sampleRate } = profile.audio;
  return {
    program,
    args: [
      ...quietArgs,
      ...progressArgs,
      ...openArgs(source),
      ...tracks.flatMap(({ track, path, gainDb }) => [
        '-map',
        `0:${track.streamIndex}`,
        '-af',
        [...trackFilters(track, { samples, sampleRate }), ...(gainDb === 0 ? [] : [`volume=${gainDb}dB`])].join(','),
        '-c:a',
        'aac',
        '-profile:a',
        'aac_low',
        '-b:a',
        String((bitrate * track.outputChannels) / 2),
        '-ac',
        String(track.outputChannels),
        ...noMetadataArgs,
        ...fragmentedMp4Args,
        path,
      ]),
      ...readAlongArgs(streamsOf(source)),
    ],
  };
}

/** The measuring filter for the track at `index`; its name is in front of what it prints. */
export function measureName(index: number): string {
  return `ebur128@track${index}`;
}

/** Measures loudness without printing anything but the summary at its end. */
export const measureOptions = 'framelog=verbose:peak=true';

interface AudioMeasure {
  readonly source: AudioInput;
  readonly tracks: readonly AudioPlan[];
  readonly samples: number;
  readonly profile: Pick<EncodingProfile, 'audio'>;
}

/** One ffmpeg that measures the loudness of every track as it is before it is encoded. */
export function measureAudioCommand(program: string, { source, tracks, samples, profile }: AudioMeasure): Command {
  const { sampleRate } = profile.audio;
  const graph = tracks.map((track, index) => {
    const filters = [...trackFilters(track, { samples, sampleRate }), `${measureName(index)}=${measureOptions}`];
    return `[0:${track.streamIndex}]${filters.join(',')}[out${index}]`;
  });
  return {
    program,
    args: [
      ...quietArgs,
      '-loglevel',
      'info',
      ...openArgs(source),
      '-filter_complex',
      graph.join(';'),
      ...tracks.flatMap((_, index) => ['-map', `[out${index}]`, '-f', 'null', '-']),
      ...readAlongArgs(streamsOf(source)),
    ],
  };
}

interface SteadyAudio {
  readonly source: AudioInput;
  readonly tracks: readonly AudioPlan[];
  readonly profile: Pick<EncodingProfile, 'audio'>;
  readonly path: string;
}

/**
 * Writes the tracks with the channels, sample rate and times that they are encoded with, without loss. ffmpeg makes the
 * filters of a track again where its decoded audio changes. These filters may be made again; those that count from time
 * 0 would begin there once more.
 */
export function steadyAudioCommand(program: string, { source, tracks, profile, path }: SteadyAudio): Command {
  const streams = tracks.flatMap((track, index) => [
    '-map',
    `0:${track.streamIndex}`,
    `-filter:a:${index}`,
    [...mixFilters(track, `${profile.audio.sampleRate}:async=1`, profile.audio), 'aformat=sample_fmts=s16'].join(','),
  ]);
  return {
    program,
    args: [
      ...quietArgs,
      ...progressArgs,
      ...openArgs(source),
      ...streams,
      '-c:a',
      'flac',
      ...noMetadataArgs,
      '-f',
      'nut',
      path,
      ...readAlongArgs(streamsOf(source)),
    ],
  };
}

/** Opens a source; a file of `steadyAudioCommand` with its own times, which are counted from the source's time 0. */
function openArgs({ path, isSteady = false }: AudioInput): string[] {
  return isSteady ? chunkInputArgs(path, []) : inputArgs(path);
}

/** The streams that decide where time 0 is. */
function streamsOf({ video, audio }: AudioInput): number[] {
  return [...(video === null ? [] : [video]), ...audio].map(({ streamIndex }) => streamIndex);
}

/** Audio from time 0 on, as long as the video, with silence in gaps of its timestamps. */
function trackFilters(
  track: AudioPlan,
  { samples, sampleRate }: { readonly samples: number; readonly sampleRate: number },
): string[] {
  return [
    ...mixFilters(track, `${sampleRate}:async=1:first_pts=0`, { sampleRate }),
    `apad=whole_len=${samples}`,
    `atrim=end_sample=${samples}`,
  ];
}

/**
 * Mixes a track down. So many channels without a layout that none is assumed cannot be mixed; the first two become left
 * and right.
 */
function mixFilters(
  { channels, channelLayout, outputChannels }: AudioPlan,
  resample: string,
  { sampleRate }: { readonly sampleRate: number },
): string[] {
  const layout = outputChannels === 2 ? 'stereo' : '5.1';
  return [
    ...(channelLayout === null && channels > 2 ? ['pan=stereo|c0=c0|c1=c1'] : []),
    // Channel 0 hears all around, channel 1 left minus right (ACN); the resampler does not mix them.
    ...(channelLayout?.startsWith('ambisonic') === true && channels > 3
      ? ['pan=stereo|c0=0.5*c0+0.5*c1|c1=0.5*c0-0.5*c1']
      : []),
    `aresample=${resample}`,
    `aformat=sample_fmts=fltp:sample_rates=${sampleRate}:channel_layouts=${layout}`,
  ];
}
