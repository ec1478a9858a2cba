import { type Rational, rational, valueOf } from './rational.ts';

/** Common rates (docs/media.md, "Odd sources"). */
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

/** A rate within this share of a standard rate is the standard rate, written with fewer digits. */
const nearnessMax = 0.000_4;
/** Below this rate a GOP of two seconds has hardly any frames, so frames are repeated. */
const frameRateMin = 10;
/** Containers round timestamps, Matroska to a millisecond: two roundings and a small margin. */
const roundingSec = 0.002_1;
const steadyShare = 0.98;
/** From so many gaps on, a single odd one is no variable rate: some containers have one at the first frame. */
const gapsOfOneOddMin = 10;

interface RateEvidence {
  /** Frames over duration as the container states it; null when unknown. */
  readonly average: Rational | null;
  /** Presentation times in seconds of runs of neighbouring frames, in any order within a run. */
  readonly runs: readonly (readonly number[])[];
}

export interface FrameRatePlan {
  readonly rate: Rational;
  readonly isVariable: boolean;
}

/**
 * The constant rate that a source is encoded at: its own when it is steady, the nearest standard rate when it is not;
 * halved until it is at most `frameRateMax`, multiplied where it is under 10.
 */
export function planFrameRate(evidence: RateEvidence, frameRateMax: number): FrameRatePlan {
  const gaps = evidence.runs.flatMap(gapsOf);
  const median = medianOf(gaps);
  const average = evidence.average === null ? null : valueOf(evidence.average);
  if (median === null) {
    const rate = evidence.average ?? { num: 25, den: 1 };
    return { rate: withinBounds(tidy(rate), frameRateMax), isVariable: false };
  }
  const even = gaps.filter((gap) => Math.abs(gap - median) <= roundingSec + median * 0.02);
  const odd = gaps.length - even.length;
  const isSteady = even.length >= gaps.length * steadyShare;
  const agrees = average === null || Math.abs(average * median - 1) < 0.05 + roundingSec / median;
  if (isSteady && agrees) {
    const mean = rateOfGap(even.reduce((sum, gap) => sum + gap, 0) / even.length);
    // Some containers state the length of the longest track, so that their average is of no use.
    const stated = evidence.average ?? mean;
    const rate = standardNear(stated) ?? standardNear(mean) ?? standardNear(rateOfGap(median)) ?? tidy(stated);
    return { rate: withinBounds(rate, frameRateMax), isVariable: false };
  }
  const isVariable = odd !== 1 || gaps.length < gapsOfOneOddMin;
  return { rate: nearestStandard(Math.max(average ?? 0, 1 / median)), isVariable };
}

function rateOfGap(sec: number): Rational {
  return rational(Math.max(1, Math.round(1000 / sec)), 1000);
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
  const distance = (rate: Rational) => Math.abs(Math.log(valueOf(rate) / framesPerSec));
  return standardRates.reduce((best, rate) => (distance(rate) < distance(best) ? rate : best));
}

/** The standard rate that `rate` approximates, or its double or fourfold (fast cameras); else `rate` to a thousandth. */
function tidy(rate: Rational): Rational {
  return standardNear(rate) ?? rational(Math.max(1, Math.round(valueOf(rate) * 1000)), 1000);
}

/** The standard rate, or its double or fourfold, that `rate` approximates; null where there is none. */
function standardNear(rate: Rational): Rational | null {
  const known = [1, 2, 4].flatMap((multiple) => standardRates.map(({ num, den }) => rational(num * multiple, den)));
  const off = (standard: Rational) => Math.abs(valueOf(rate) / valueOf(standard) - 1);
  const nearest = known.reduce((best, standard) => (off(standard) < off(best) ? standard : best));
  return off(nearest) < nearnessMax ? nearest : null;
}

function withinBounds(rate: Rational, frameRateMax: number): Rational {
  if (valueOf(rate) > frameRateMax) return withinBounds(rational(rate.num, rate.den * 2), frameRateMax);
  if (valueOf(rate) >= frameRateMin) return rate;
  const repeats = Math.ceil(frameRateMin / valueOf(rate));
  return rational(rate.num * repeats, rate.den);
}
