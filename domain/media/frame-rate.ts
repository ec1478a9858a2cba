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

/** With their doubles and fourfolds, of fast cameras. */
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
}

/**
 * The constant rate that a source is encoded at: its own when it is steady, the nearest standard rate when it is not;
 * halved until it is at most `frameRateMax`, multiplied up to that where it is under 10.
 */
export function planFrameRate(evidence: RateEvidence, frameRateMax: number): FrameRatePlan {
  const gaps = evidence.runs.flatMap(gapsOf);
  const median = medianOf(gaps);
  const planOf = (sourceRate: Rational, isVariable = false) => ({
    rate: withinBounds(sourceRate, frameRateMax),
    sourceRate,
    isVariable,
  });
  if (median === null) return planOf(tidy(evidence.average ?? { num: 25, den: 1 }));
  const even = gaps.filter((gap) => Math.abs(gap - median) <= roundingSec + median * 0.02);
  const odd = gaps.length - even.length;
  if (even.length >= gaps.length * steadyShare) return planOf(rateOfGaps(even, evidence.average));
  const isVariable = odd !== 1 || gaps.length < gapsOfOneOddMin;
  return planOf(nearestStandard(Math.max(believable(evidence.average, gaps), 1 / median)), isVariable);
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
  const framesPerSec = valueOf(rate);
  const angles = times.map((time) => 2 * Math.PI * time * framesPerSec);
  const mean = (part: (angle: number) => number) =>
    angles.reduce((sum, angle) => sum + part(angle), 0) / Math.max(1, angles.length);
  const [x, y] = [mean(Math.cos), mean(Math.sin)];
  const offFrames = Math.atan2(y, x) / (2 * Math.PI);
  const isRisky = Math.hypot(x, y) >= agreementMin && Math.abs(offFrames) >= offPlaceMin;
  return isRisky ? -offFrames / framesPerSec : 0;
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
