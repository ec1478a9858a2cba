/** One rung of the ladder. */
interface ProfileRung {
  /** Pixels of the shorter side. */
  readonly shortSide: number;
  /** Bits a second, at most. */
  readonly bitrateMax: number;
}

/** How streams are encoded (docs/media.md, "Ladder", "Grid" and "Audio"). */
export interface EncodingProfile {
  /** From small to large. */
  readonly rungs: readonly ProfileRung[];
  /** The `bitrateMax` of the rung that is listed first. */
  readonly firstBitrate: number;
  readonly crf: number;
  /** x264's preset: a faster one costs quality. */
  readonly preset: X264Preset;
  readonly frameRateMax: number;
  readonly gopSec: number;
  readonly gopsPerSegment: number;
  readonly audio: {
    readonly bitrate: number;
    readonly sampleRate: number;
    readonly channels: number;
    readonly tracksMax: number;
  };
}

/** x264's presets, the fastest first. */
export const x264Presets = [
  'ultrafast',
  'superfast',
  'veryfast',
  'faster',
  'fast',
  'medium',
  'slow',
  'slower',
  'veryslow',
] as const;
export type X264Preset = (typeof x264Presets)[number];

/** The profiles by the name in the task. */
export const encodingProfiles = {
  default: {
    rungs: [
      { shortSide: 360, bitrateMax: 730_000 },
      { shortSide: 540, bitrateMax: 2_000_000 },
      { shortSide: 720, bitrateMax: 4_500_000 },
      { shortSide: 1080, bitrateMax: 7_800_000 },
    ],
    firstBitrate: 2_000_000,
    crf: 23,
    preset: 'medium',
    frameRateMax: 60,
    gopSec: 2,
    gopsPerSegment: 3,
    audio: { bitrate: 128_000, sampleRate: 48_000, channels: 2, tracksMax: 8 },
  },
} as const satisfies Record<string, EncodingProfile>;
