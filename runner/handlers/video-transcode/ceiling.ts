import type { Warning } from '#domain/job-types/shared-results.ts';
import type { EncodingProfile } from '#domain/media/encoding-profile.ts';
import type { Rung } from '#domain/media/ladder.ts';
import { valueOf } from '#domain/media/rational.ts';
import type { VideoSource } from '../../source/examine-video.ts';

type CheckedVideo = Pick<VideoSource['video'], 'width' | 'height' | 'sourceRate' | 'hdr'>;

interface Found {
  /** Null for audio alone. */
  readonly video: CheckedVideo | null;
  readonly audio: readonly Pick<VideoSource['audio'][number], 'channels'>[];
}

/** Rates are measured from rounded times. */
const rateTolerance = 1.01;

/**
 * One warning for what a source has above the ceiling of its profile: lines, frames a second, HDR, audio channels.
 *
 * @param rungs that will be made
 */
export function ceilingWarnings({ video, audio }: Found, rungs: readonly Rung[], profile: EncodingProfile): Warning[] {
  const channels = Math.max(0, ...audio.map((track) => track.channels));
  const channelsMax = profile.audio.hasSurround ? 6 : 2;
  const excess = [
    ...(video === null ? [] : videoExcess(video, rungs, profile)),
    ...(channels > channelsMax ? [`${channels} audio channels (at most ${channelsMax})`] : []),
  ];
  if (excess.length === 0) return [];
  return [
    { code: 'above_profile', message: `The source has more than the profile makes of it: ${excess.join(', ')}.` },
  ];
}

function videoExcess(
  { width, height, sourceRate, hdr }: CheckedVideo,
  rungs: readonly Rung[],
  profile: EncodingProfile,
): string[] {
  const shortSide = Math.min(width, height);
  const shortSideMax = Math.max(...profile.rungs.map((rung) => rung.shortSide));
  const rate = valueOf(sourceRate);
  return [
    ...(shortSide > shortSideMax ? [`${shortSide} pixels on the shorter side (at most ${shortSideMax})`] : []),
    ...(rate > profile.frameRateMax * rateTolerance
      ? [`${Number(rate.toFixed(3))} frames a second (at most ${profile.frameRateMax})`]
      : []),
    ...(hdr !== 'none' && rungs.every(({ range }) => range === 'sdr') ? ['HDR (SDR alone)'] : []),
  ];
}
