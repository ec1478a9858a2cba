import { type Rational, rational } from './rational.ts';

/**
 * The grid (docs/reference/media.md, "Grid"): where every rung has an IDR and every segment begins. It counts frames,
 * so that all rungs agree exactly.
 */
export interface Grid {
  readonly rate: Rational;
  readonly gopFrames: number;
  readonly segmentFrames: number;
}

/** The settings of a profile that decide the grid. */
interface GridSettings {
  readonly gopSec: number;
  readonly gopsPerSegment: number;
}

/** The grid at a constant rate: a GOP is the nearest whole number of frames to two seconds. */
export function gridOf(rate: Rational, profile: GridSettings): Grid {
  const gopFrames = Math.max(1, Math.round((profile.gopSec * rate.num) / rate.den));
  return { rate, gopFrames, segmentFrames: gopFrames * profile.gopsPerSegment };
}

/** The length of `frames` frames in seconds. */
export function framesSec(frames: number, { num, den }: Rational): number {
  return (frames * den) / num;
}

/** The number of frames in `durationSec`, to the nearest. */
export function framesIn(durationSec: number, { num, den }: Rational): number {
  return Math.round((durationSec * num) / den);
}

/** Samples in one AAC-LC frame, and those that its encoder puts before the first. */
const aacFrameSamples = 1024;

/** The grid of audio without video: it counts frames of AAC-LC. */
export function audioGridOf({
  audio,
  ...profile
}: GridSettings & { readonly audio: { readonly sampleRate: number } }): Grid {
  return gridOf(rational(audio.sampleRate, aacFrameSamples), profile);
}

/** The frames of AAC-LC that hold `durationSec` of audio, with the one that its encoder puts first. */
export function audioFramesFor(durationSec: number, { rate }: Pick<Grid, 'rate'>): number {
  return 1 + Math.max(1, Math.ceil((durationSec * rate.num) / rate.den - 1e-6));
}

/**
 * The number of audio samples for `durationSec` of video. The encoder's priming frame comes first in decoding time, by
 * which segments are cut; one frame too many would open another segment. So the last frame begins before the video
 * ends, and the audio ends at most one frame (21 ms) before the video.
 */
export function audioSamplesFor(durationSec: number, sampleRate: number): number {
  const framesDecoded = Math.ceil((durationSec * sampleRate) / aacFrameSamples - 1e-6);
  return Math.max(1, framesDecoded - 1) * aacFrameSamples;
}
