import { type Rational, rational, valueOf } from './rational.ts';

/** Common rates (docs/reference/media.md, "Odd sources"). */
const standardRates: readonly Rational[] = [
  { num: 24_000, den: 1001 },
  { num: 24, den: 1 },
  { num: 25, den: 1 },
  { num: 30_000, den: 1001 },
  { num: 30, den: 1 },
  { num: 50, den: 1 },
  { num: 60_000, den: 1001 },
  { num: 60, den: 1 },
];

/** The standard rates with their doubles and fourfolds, of fast cameras. */
const knownRates = [1, 2, 4].flatMap((multiple) => standardRates.map(({ num, den }) => rational(num * multiple, den)));

/** A rate within this share of a standard rate is the standard rate, written with fewer digits. */
const nearnessMax = 0.000_4;
/** Below this rate a GOP of two seconds has hardly any frames, so frames are repeated. */
const frameRateMin = 10;
/** Containers round timestamps, Matroska and FLV to a millisecond: two roundings and a small margin. */
const roundingSec = 0.002_1;
/** A source has a rate when all its times are within this share of a frame of the rate's own times. */
const driftFramesMax = 1 / 3;
const steadyShare = 0.98;
/** With at least this many gaps, one odd gap makes no variable rate: some containers have one at the first frame. */
const gapsOfOneOddMin = 10;

interface RateEvidence {
  /** Frames over duration as the container states it, which may be far from true; null when unknown. */
  readonly average: Rational | null;
  /** Presentation times in seconds of runs of neighbouring frames, in any order within a run. */
  readonly runs: readonly (readonly number[])[];
}

export interface FrameRatePlan {
  readonly rate: Rational;
  /** Before it was halved or multiplied. */
  readonly sourceRate: Rational;
  readonly isVariable: boolean;
  /** Whether the frames are regular but for a scatter of their times: each belongs at a place of its own. */
  readonly isScattered: boolean;
}

/**
 * The constant rate that a source is encoded at: its own when it is steady, the rate around which its times scatter, or
 * else the nearest standard rate; halved until it is at most `frameRateMax`, multiplied up to that where it is under
 * 10.
 */
export function planFrameRate(evidence: RateEvidence, frameRateMax: number): FrameRatePlan {
  const gaps = evidence.runs.flatMap(gapsOf);
  const median = medianOf(gaps);
  const planOf = (sourceRate: Rational, isVariable = false, isScattered = false) => ({
    rate: withinBounds(sourceRate, frameRateMax),
    sourceRate,
    isVariable,
    isScattered,
  });
  if (median === null) return planOf(tidy(evidence.average ?? { num: 25, den: 1 }));
  const even = gaps.filter((gap) => Math.abs(gap - median) <= roundingSec + median * 0.02);
  const odd = gaps.length - even.length;
  if (even.length >= gaps.length * steadyShare) return planOf(rateOfGaps(even, evidence.average));
  const isVariable = odd !== 1 || gaps.length < gapsOfOneOddMin;
  const nearest = nearestStandard(Math.max(believable(evidence.average, gaps), 1 / median));
  // Frames at places of a rate, of which some are missing, stay there.
  const grids = [nearest, nearestStandard(1 / median)];
  const isOnGrid = grids.some((rate) => evidence.runs.every((run) => placesOf(run, rate).agreement >= agreementMin));
  const scattered = isOnGrid ? null : rateOfScatter(evidence.runs);
  return scattered === null ? planOf(nearest, isVariable) : planOf(scattered, true, true);
}

/** Regular frames whose times are off by at most this share of a frame keep their order and their number. */
const scatterFramesMax = 0.45;
/** Fewer frames say little of a mean. */
const scatteredMin = 24;
/** A mean rate within this share of a common one becomes that one: a frame is repeated now and then. */
const commonShareMax = 0.01;

/** The rate around which the times of all runs scatter; null where they do not. */
function rateOfScatter(runs: readonly (readonly number[])[]): Rational | null {
  const secs = runs.filter((run) => run.length >= scatteredMin).map(scatterSec);
  const [first] = secs;
  if (first === undefined || first === null) return null;
  const isOne = secs.every((sec) => sec !== null && Math.abs(sec / first - 1) <= commonShareMax);
  if (!isOne) return null;
  const common = nearestOf(knownRates, (rate) => Math.abs(Math.log(valueOf(rate) * first)));
  const isCommon = Math.abs(valueOf(common) * first - 1) <= commonShareMax;
  return isCommon ? common : rational(Math.max(1, Math.round(1000 / first)), 1000);
}

/** The seconds of a frame by the straight line through a run's times; null where some lie too far from it. */
function scatterSec(run: readonly number[]): number | null {
  const times = run.toSorted((a, b) => a - b);
  const mid = (times.length - 1) / 2;
  const meanSec = times.reduce((sum, time) => sum + time, 0) / times.length;
  const spread = times.reduce((sum, _, index) => sum + (index - mid) ** 2, 0);
  const sec = times.reduce((sum, time, index) => sum + (index - mid) * (time - meanSec), 0) / spread;
  const isNear = times.every((time, index) => Math.abs(time - meanSec - (index - mid) * sec) <= scatterFramesMax * sec);
  return isNear && sec > 0 ? sec : null;
}

/** The rate of steady gaps: the stated or a standard one with as many frames in as much time, else their mean. */
function rateOfGaps(gaps: readonly number[], stated: Rational | null): Rational {
  const sum = gaps.reduce((total, gap) => total + gap, 0);
  const driftSec = (rate: Rational) => Math.abs(sum - gaps.length / valueOf(rate));
  const nearest = nearestOf(knownRates, driftSec);
  const statedKnown = stated === null ? null : standardNear(stated);
  for (const rate of [statedKnown, nearest, stated]) {
    if (rate !== null && driftSec(rate) <= roundingSec) return tidy(rate);
  }
  if (driftSec(nearest) <= driftFramesMax / valueOf(nearest)) return nearest;
  return tidy(rational(Math.max(1, Math.round((1000 * gaps.length) / sum)), 1000));
}

/** A stated average in frames a second, but at most the rate of the closest tenth of the frames; 0 when unknown. */
function believable(average: Rational | null, gaps: readonly number[]): number {
  if (average === null) return 0;
  const close = gaps.toSorted((a, b) => a - b)[Math.floor(gaps.length / 10)] ?? 0;
  return Math.min(valueOf(average), 1 / close);
}

/** Frames that lie this near to the middle between two places of the output, in frames, are moved. */
const offPlaceMin = 0.25;
/** How much the frames must agree about where they lie: 1 where all have the same distance to their places. */
const agreementMin = 0.9;

/**
 * Seconds to add to the times of frames so that none lies halfway between two output frames, where rounding would drop
 * some and repeat others. At most half a frame; 0 for most sources.
 *
 * @param times from the start of the file
 */
export function placeShiftSec(times: readonly number[], rate: Rational): number {
  const { offFrames, agreement } = placesOf(times, rate);
  const isRisky = agreement >= agreementMin && Math.abs(offFrames) >= offPlaceMin;
  return isRisky ? -offFrames / valueOf(rate) : 0;
}

/** How far frames lie from the places of a rate, in frames, and how much they agree about it, 0–1. */
function placesOf(times: readonly number[], rate: Rational): { offFrames: number; agreement: number } {
  const angles = times.map((time) => 2 * Math.PI * time * valueOf(rate));
  const mean = (part: (angle: number) => number) =>
    angles.reduce((sum, angle) => sum + part(angle), 0) / Math.max(1, angles.length);
  const [x, y] = [mean(Math.cos), mean(Math.sin)];
  return { offFrames: Math.atan2(y, x) / (2 * Math.PI), agreement: Math.hypot(x, y) };
}

function gapsOf(times: readonly number[]): number[] {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted
    .slice(1)
    .map((time, index) => time - (sorted[index] ?? time))
    .filter((gap) => gap > 0);
}

function medianOf(values: readonly number[]): number | null {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? null;
}

function nearestStandard(framesPerSec: number): Rational {
  return nearestOf(standardRates, (rate) => Math.abs(Math.log(valueOf(rate) / framesPerSec)));
}

function nearestOf(rates: readonly Rational[], distance: (rate: Rational) => number): Rational {
  return rates.reduce((best, rate) => (distance(rate) < distance(best) ? rate : best));
}

/**
 * The standard rate that `rate` approximates, or its double or fourfold (fast cameras); else `rate` to a thousandth.
 */
function tidy(rate: Rational): Rational {
  return standardNear(rate) ?? rational(Math.max(1, Math.round(valueOf(rate) * 1000)), 1000);
}

/** The standard rate, or its double or fourfold, that `rate` approximates; null where there is none. */
function standardNear(rate: Rational): Rational | null {
  const off = (standard: Rational) => Math.abs(valueOf(rate) / valueOf(standard) - 1);
  const nearest = nearestOf(knownRates, off);
  return off(nearest) < nearnessMax ? nearest : null;
}

function withinBounds(rate: Rational, frameRateMax: number): Rational {
  if (valueOf(rate) > frameRateMax) return withinBounds(rational(rate.num, rate.den * 2), frameRateMax);
  const repeats = Math.min(Math.ceil(frameRateMin / valueOf(rate)), Math.floor(frameRateMax / valueOf(rate)));
  return rational(rate.num * repeats, rate.den);
}
