import type { Watermark } from './watermark.ts';
import type { QualityTarget } from './quality.ts';
import { defaultDocument, type ProfileDocument, type VideoCodec, type x264Presets } from './profiles.ts';

/** How streams are encoded (docs/reference/media.md, "Ladder", "Grid" and "Audio"). */
export interface EncodingProfile {
  /** From small to large in each codec; `shortSide` in pixels, `bitrateMax` in bits a second. */
  readonly rungs: readonly { readonly codec: VideoCodec; readonly shortSide: number; readonly bitrateMax: number }[];
  /** The most that the rung that is listed first may have. */
  readonly firstBitrate: number;
  /** The CRF of H.264. */
  readonly crf: number;
  readonly preset: (typeof x264Presets)[number];
  readonly hevc: { readonly crf: number; readonly preset: (typeof x264Presets)[number] };
  readonly av1: { readonly crf: number; readonly preset: number };
  /** Whether rungs of HEVC and AV1 keep the HDR of a source. */
  readonly keepsHdr: boolean;
  /** Whether the quality of rungs is measured, and what it must come to; null: neither. */
  readonly quality: { readonly target: QualityTarget | null } | null;
  readonly frameRateMax: number;
  readonly storyboard: ProfileDocument['storyboard'];
  readonly captions: NonNullable<ProfileDocument['captions']>;
  readonly watermark: Watermark | null;
  /** Whether a source without video gets a stream of its audio. */
  readonly streamsAudioOnly: boolean;
  readonly gopSec: number;
  readonly gopsPerSegment: number;
  readonly audio: {
    readonly bitrate: number;
    readonly sampleRate: number;
    /** The most tracks of the source that are encoded, 5.1 tracks beside them not counted. */
    readonly tracksMax: number;
    /** Null: as in the source. */
    readonly loudnessLufs: number | null;
    readonly hasSurround: boolean;
  };
}

/** The settings that the runner works by: a profile, and what is the same in all. */
export function encodingProfileOf(profile: ProfileDocument): EncodingProfile {
  return {
    rungs: profile.ladder.map(({ codec = 'h264', short_side, bitrate }) => ({
      codec,
      shortSide: short_side,
      bitrateMax: bitrate,
    })),
    firstBitrate: profile.first_bitrate,
    crf: profile.crf,
    preset: profile.preset,
    hevc: profile.hevc ?? { crf: 25, preset: 'medium' },
    av1: profile.av1 ?? { crf: 32, preset: 8 },
    // A watermark is SDR.
    keepsHdr: profile.hdr === 'keep' && profile.watermark === undefined,
    quality: qualityOf(profile.quality),
    frameRateMax: profile.frame_rate_max,
    storyboard: profile.storyboard,
    captions: profile.captions ?? 'always',
    watermark: profile.watermark ?? null,
    streamsAudioOnly: profile.audio_only === 'stream',
    gopSec: 2,
    gopsPerSegment: 3,
    audio: {
      bitrate: profile.audio.bitrate,
      sampleRate: 48_000,
      tracksMax: profile.audio.tracks_max,
      loudnessLufs: profile.audio.loudness ?? null,
      hasSurround: profile.audio.surround ?? false,
    },
  };
}

function qualityOf(quality: ProfileDocument['quality']): EncodingProfile['quality'] {
  const { vmaf, ssim, report = false } = quality ?? {};
  if (vmaf !== undefined) return { target: { measure: 'vmaf', score: vmaf } };
  if (ssim !== undefined) return { target: { measure: 'ssim', score: ssim } };
  return report ? { target: null } : null;
}

/** The built-in profile `default`. */
export const defaultEncoding = encodingProfileOf(defaultDocument);
