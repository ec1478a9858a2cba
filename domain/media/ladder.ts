import { evenDown, evenNear, type FrameSize } from './frame-size.ts';
import type { EncodingProfile } from './profiles.ts';
import { videoTrackId } from './tracks.ts';

/** One rendition to make: its size as written, in pixels, and its cap in bits a second. */
export interface Rung extends FrameSize {
  readonly id: string;
  readonly bitrateMax: number;
}

/** A short side below this gets one rung, unscaled. */
const tinyShortSide = 64;
/** Many decoders refuse a larger picture. */
const longSideMax = 4096;
/** How much larger than the rung below the source must be to get a rung of its own. */
const ownRungRatio = 1.2;
const bitrateMin = 150_000;
/** A rung that costs more than this share of the one above it is of no use to a player. */
const closeRungRatio = 0.7;

/**
 * The rungs for a source (docs/media.md, "Ladder"), from small to large: those of the profile that do not enlarge it, by
 * the short side; and one at its own size when that is over 20 % larger than the rung below. There is always one.
 *
 * @param source as shown: after rotation and with square pixels
 */
export function planLadder(source: FrameSize, profile: EncodingProfile): Rung[] {
  const shortSide = Math.min(source.width, source.height);
  const fitting = profile.rungs.filter((rung) => rung.shortSide <= shortSide);
  const rungs = fitting.map((rung) => ({ ...sizeFor(source, rung.shortSide), bitrateMax: rung.bitrateMax }));
  const top = fitting.at(-1);
  const largest = profile.rungs.at(-1)?.shortSide ?? 0;
  if (top === undefined || (shortSide <= largest && shortSide > top.shortSide * ownRungRatio)) {
    rungs.push({ ...ownSize(source), bitrateMax: bitrateFor(shortSide, profile) });
  }
  const named = rungs.map((rung) => ({ id: videoTrackId(rung.height), ...rung }));
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
  const shortSide = Math.min(source.width, source.height);
  const isTiny = shortSide < tinyShortSide;
  if (!isTiny && Math.max(source.width, source.height) > longSideMax) return sizeFor(source, shortSide);
  return { width: evenDown(source.width), height: evenDown(source.height) };
}

/** The cap of a size between two rungs, interpolated; below the first rung, scaled by the number of pixels. */
function bitrateFor(shortSide: number, profile: EncodingProfile): number {
  const above = profile.rungs.find((rung) => rung.shortSide >= shortSide);
  const below = profile.rungs.findLast((rung) => rung.shortSide <= shortSide);
  if (above === undefined) return below?.bitrateMax ?? bitrateMin;
  if (below === undefined)
    return Math.max(bitrateMin, Math.round(above.bitrateMax * (shortSide / above.shortSide) ** 1.5));
  const share = (shortSide - below.shortSide) / Math.max(1, above.shortSide - below.shortSide);
  return Math.round(below.bitrateMax + share * (above.bitrateMax - below.bitrateMax));
}

/**
 * The rungs to keep once their averages are measured: one that costs over 70 % of the next above it is dropped. The
 * largest is always kept.
 *
 * @param rungs from small to large; `averageBitrate` in bits a second
 */
export function keepWorthwhile<R extends { readonly averageBitrate: number }>(rungs: readonly R[]): R[] {
  const kept: R[] = [];
  for (const rung of rungs.toReversed()) {
    const above = kept.at(-1);
    if (above === undefined || rung.averageBitrate <= above.averageBitrate * closeRungRatio) kept.push(rung);
  }
  return kept.toReversed();
}

/**
 * The order in which rungs are listed: first the one that playback starts with, the profile's 2.0 Mb/s rung or the
 * nearest below it, then the others from small to large.
 *
 * @param rungs from small to large
 */
export function inListingOrder<R extends { readonly bitrateMax: number }>(
  rungs: readonly R[],
  profile: EncodingProfile,
): R[] {
  const first = rungs.findLast((rung) => rung.bitrateMax <= profile.firstBitrate) ?? rungs[0];
  return first === undefined ? [] : [first, ...rungs.filter((rung) => rung !== first)];
}
