import { evenDown, evenNear, type FrameSize } from './frame-size.ts';
import type { EncodingProfile } from './encoding-profile.ts';
import { type VideoCodec, videoCodecs } from './profiles.ts';
import type { RungQuality } from './quality.ts';
import { videoTrackId } from './tracks.ts';

/** How brightness is coded: SDR, or one of the two kinds of HDR. */
export const videoRanges = ['sdr', 'pq', 'hlg'] as const;
export type VideoRange = (typeof videoRanges)[number];

/** One rendition to make: its size as written, in pixels, and its cap in bits a second. */
export interface Rung extends FrameSize {
  readonly id: string;
  readonly codec: VideoCodec;
  readonly range: VideoRange;
  readonly bitrateMax: number;
  /** The quality of the rung, where the profile wants it measured. */
  readonly quality?: RungQuality | undefined;
}

/** A frame with a shorter side is made in H.264 alone: SVT-AV1 refuses it, and decoders of HEVC may. */
const shortSideMin = 64;
/** Many decoders refuse a larger frame. */
const longSideMax = 4096;
/** How much larger than the rung below the source must be to get a rung of its own. */
const ownRungRatio = 1.2;
/** Below it x264 writes level 1b, in playlists `avc1.640009`, which Chromium refuses. */
const bitrateMin = 200_000;
/** A rung that costs more than this share of the one above it is of no use to a player. */
const closeRungRatio = 0.7;

interface SourceFrame extends FrameSize {
  readonly hdr: VideoRange | 'none' | 'dolby_vision';
}

/**
 * The rungs for a source (docs/reference/media.md, "Ladder"), from small to large in each codec, H.264 first: rungs of
 * the profile that do not enlarge it, by the short side, and one at its own size when it exceeds the rung below by 20
 * %. There is always a rung: where `usable` has no codec of the profile, the first of its ladders is made in H.264.
 *
 * @param source as shown: after rotation and with square pixels
 * @param usable the codecs that can be encoded here
 */
export function planLadder(source: SourceFrame, profile: EncodingProfile, usable: readonly VideoCodec[]): Rung[] {
  const ladderOf = (codec: VideoCodec) => profile.rungs.filter((rung) => rung.codec === codec);
  const range: VideoRange = profile.keepsHdr && (source.hdr === 'pq' || source.hdr === 'hlg') ? source.hdr : 'sdr';
  const planned = videoCodecs.flatMap((codec) => {
    const ladder = ladderOf(codec);
    if (ladder.length === 0 || !(codec === 'h264' || usable.includes(codec))) return [];
    const rungs = planFamily(source, codec, ladder);
    if (codec === 'h264') return rungs;
    return rungs
      .filter(({ width, height }) => Math.min(width, height) >= shortSideMin)
      .map((rung) => ({ ...rung, range }));
  });
  return planned.length > 0 ? planned : planFamily(source, 'h264', ladderOf(profile.rungs[0]?.codec ?? 'h264'));
}

type ProfileRungs = EncodingProfile['rungs'];

/** The SDR rungs of one codec. */
function planFamily(source: FrameSize, codec: VideoCodec, ofCodec: ProfileRungs): Rung[] {
  const shortSide = Math.min(source.width, source.height);
  const fitting = ofCodec.filter((rung) => rung.shortSide <= shortSide);
  const rungs = fitting.map((rung) => ({ ...sizeFor(source, rung.shortSide), bitrateMax: rung.bitrateMax }));
  const top = fitting.at(-1);
  const largest = ofCodec.at(-1)?.shortSide ?? 0;
  if (top === undefined || (shortSide <= largest && shortSide > top.shortSide * ownRungRatio)) {
    rungs.push({ ...ownSize(source), bitrateMax: bitrateFor(shortSide, ofCodec) });
  }
  const named = rungs.map((rung) => ({
    id: videoTrackId(rung.height, codec),
    codec,
    range: 'sdr' as const,
    ...rung,
  }));
  // The cap on the long side may give two rungs of a very wide source one size.
  return named.filter((rung, index) => named.findIndex(({ id }) => id === rung.id) === index);
}

function sizeFor(source: FrameSize, shortSide: number): FrameSize {
  const sourceShort = Math.min(source.width, source.height);
  const sourceLong = Math.max(source.width, source.height);
  const scale = Math.min(shortSide / sourceShort, longSideMax / sourceLong);
  return { width: evenNear(source.width * scale), height: evenNear(source.height * scale) };
}

function ownSize(source: FrameSize): FrameSize {
  if (Math.max(source.width, source.height) > longSideMax)
    return sizeFor(source, Math.min(source.width, source.height));
  return { width: evenDown(source.width), height: evenDown(source.height) };
}

/** The cap of a size between two rungs, interpolated; below the first rung, scaled by the number of pixels. */
function bitrateFor(shortSide: number, rungs: ProfileRungs): number {
  const above = rungs.find((rung) => rung.shortSide >= shortSide);
  const below = rungs.findLast((rung) => rung.shortSide <= shortSide);
  if (above === undefined) return below?.bitrateMax ?? bitrateMin;
  if (below === undefined)
    return Math.max(bitrateMin, Math.round(above.bitrateMax * (shortSide / above.shortSide) ** 1.5));
  const share = (shortSide - below.shortSide) / Math.max(1, above.shortSide - below.shortSide);
  return Math.round(below.bitrateMax + share * (above.bitrateMax - below.bitrateMax));
}

/**
 * The rungs to keep once their averages are measured: one that costs over 70 % of the next above it in its codec is
 * dropped. The largest of each codec is always kept.
 *
 * @param rungs from small to large in each codec; `averageBitrate` in bits a second
 */
export function keepWorthwhile<R extends { readonly averageBitrate: number; readonly codec: VideoCodec }>(
  rungs: readonly R[],
): R[] {
  const kept: R[] = [];
  for (const rung of rungs.toReversed()) {
    const above = kept.findLast(({ codec }) => codec === rung.codec);
    if (above === undefined || rung.averageBitrate <= above.averageBitrate * closeRungRatio) kept.push(rung);
  }
  return kept.toReversed();
}

/**
 * The order in which rungs are listed: first the one that playback starts with, the profile's 2.0 Mb/s rung or the
 * nearest below it in the first codec, then the others in their order.
 *
 * @param rungs from small to large in each codec
 */
export function inListingOrder<R extends { readonly bitrateMax: number; readonly codec: VideoCodec }>(
  rungs: readonly R[],
  profile: EncodingProfile,
): R[] {
  const [lowest] = rungs;
  if (lowest === undefined) return [];
  const first =
    rungs.findLast(({ codec, bitrateMax }) => codec === lowest.codec && bitrateMax <= profile.firstBitrate) ?? lowest;
  return [first, ...rungs.filter((rung) => rung !== first)];
}
