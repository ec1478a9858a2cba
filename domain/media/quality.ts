import { z } from 'zod';
import type { Grid } from './grid.ts';
import type { VideoCodec } from './profiles.ts';

// Quality on target (docs/reference/media.md, "Quality on target"): which parts of a source are encoded as samples, and
// which constant rate factor (CRF) brings a rung to its target.

const qualityMeasures = ['vmaf', 'ssim'] as const;
/** VMAF is from 0 to 100, SSIM from 0 to 1. */
export type QualityMeasure = (typeof qualityMeasures)[number];

/** The quality that a profile asks of each rung. */
export interface QualityTarget {
  readonly measure: QualityMeasure;
  readonly score: number;
}

/** The CRF that a rung is encoded with, and the score that its samples have with it. */
export const rungQualitySchema = z.object({
  measure: z.enum(qualityMeasures).describe('The measure of the score.'),
  score: z.number().describe('The mean score of samples of the source, encoded with `crf`.'),
  crf: z.number().describe('The constant rate factor.'),
});
export type RungQuality = z.infer<typeof rungQualitySchema>;

/** A sample encode. */
export interface Trial {
  readonly crf: number;
  readonly score: number;
}

/** A rung whose CRF is looked for. */
interface Search {
  readonly codec: VideoCodec;
  readonly target: QualityTarget;
  readonly trials: readonly Trial[];
}

/** The CRFs that may come out, and their steps. SVT-AV1 knows whole numbers alone. */
const crfRanges = {
  h264: { min: 16, max: 40, step: 0.1 },
  hevc: { min: 16, max: 42, step: 0.1 },
  av1: { min: 18, max: 60, step: 1 },
} as const satisfies Record<VideoCodec, { min: number; max: number; step: number }>;

/** The best score, and the smallest loss that counts. */
const scales = {
  vmaf: { best: 100, lossMin: 0.5, decimals: 1 },
  ssim: { best: 1, lossMin: 0.0005, decimals: 4 },
} as const satisfies Record<QualityMeasure, object>;

/**
 * The distance to the best score, as a logarithm: nearly linear in the CRF by either measure, where the score is not.
 */
function lossOf(measure: QualityMeasure, score: number): number {
  const { best, lossMin } = scales[measure];
  return Math.log(Math.max(lossMin, best - score));
}

function scoreOf(measure: QualityMeasure, loss: number): number {
  return scales[measure].best - Math.exp(loss);
}

/** A trial as results state it. */
export function qualityOfTrial(measure: QualityMeasure, { crf, score }: Trial): RungQuality {
  return { measure, score: Number(score.toFixed(scales[measure].decimals)), crf };
}

/** A target is met at 0.35 of VMAF at 93, at 1 at 80. */
const lossTolerance = 0.05;
/** The slope of the loss over the CRF until two trials exist; then theirs, within `slopeMin` and `slopeMax`. */
const slopeGuess = 0.12;
const slopeMin = 0.04;
const slopeMax = 0.3;
/** How far from a trial a CRF may be. */
const stepMax = 8;
const trialsMax = 3;

/**
 * The CRF of the next sample encode of a rung; null once the target is met, or after three.
 *
 * @param startCrf CRF of the first sample: the profile's
 */
export function nextCrf({ codec, target, trials }: Search, startCrf: number): number | null {
  const last = trials.at(-1);
  if (last === undefined) return inRange(startCrf, codec);
  if (trialOnTarget(target, trials) !== undefined || trials.length >= trialsMax) return null;
  const { measure, score } = target;
  const crf = inRange(crfAt(lossOf(measure, score), linesOf(measure, trials)), codec);
  return trials.some((trial) => Math.abs(trial.crf - crf) < crfRanges[codec].step) ? null : crf;
}

/** The trial that meets the target best; of equal ones that of the highest CRF. */
function trialOnTarget({ measure, score }: QualityTarget, trials: readonly Trial[]): Trial | undefined {
  const missOf = (trial: Trial) => Math.abs(lossOf(measure, trial.score) - lossOf(measure, score));
  const [nearest] = trials.toSorted((one, other) => missOf(one) - missOf(other) || other.crf - one.crf);
  return nearest !== undefined && missOf(nearest) <= lossTolerance ? nearest : undefined;
}

/**
 * The CRF of a rung and its score: those of a trial that meets the target, since an encoder that rounds its quantizer
 * has steps between CRFs; else interpolated. Where the bit rate cap keeps every trial below the target: the highest CRF
 * that scores no worse than the others.
 */
export function settledQuality({ codec, target, trials }: Search): RungQuality {
  const { measure, score } = target;
  const onTarget = trialOnTarget(target, trials);
  if (onTarget !== undefined) return qualityOfTrial(measure, onTarget);
  const wanted = lossOf(measure, score);
  const points = linesOf(measure, trials);
  const [best] = points;
  const isOutOfReach = trials.length > 1 && best.loss > wanted + lossTolerance;
  const capped = points.findLast(({ loss }) => loss <= best.loss + lossTolerance) ?? best;
  const crf = isOutOfReach ? capped.crf : inRange(crfAt(wanted, points), codec);
  const tried = trials.find((trial) => Math.abs(trial.crf - crf) < crfRanges[codec].step / 2);
  return qualityOfTrial(measure, tried ?? { crf, score: scoreOf(measure, lossAt(crf, points)) });
}

interface Point {
  readonly crf: number;
  readonly loss: number;
}

type Points = readonly [Point, ...Point[]];

/** Trials from the lowest CRF on, as points whose loss never falls. */
function linesOf(measure: QualityMeasure, trials: readonly Trial[]): Points {
  let most = Number.NEGATIVE_INFINITY;
  const [first, ...others] = trials
    .toSorted((one, other) => one.crf - other.crf)
    .map(({ crf, score }) => {
      most = Math.max(most, lossOf(measure, score));
      return { crf, loss: most };
    });
  if (first === undefined) throw new TypeError('a quality needs a trial');
  return [first, ...others];
}

function crfAt(loss: number, points: Points): number {
  const { base, slope } = lineFor(points, (point) => point.loss <= loss);
  return base.crf + Math.max(-stepMax, Math.min(stepMax, (loss - base.loss) / slope));
}

function lossAt(crf: number, points: Points): number {
  const { base, slope } = lineFor(points, (point) => point.crf <= crf);
  return base.loss + (crf - base.crf) * slope;
}

/**
 * The line through the two points around a place. Outside of all points: the slope from the first to the last, clamped,
 * since two close points show a slope by chance.
 */
function lineFor(points: Points, isBelow: (point: Point) => boolean): { base: Point; slope: number } {
  const [first] = points;
  const last = points.at(-1) ?? first;
  const slopeOf = (from: Point, to: Point) => (to.loss - from.loss) / (to.crf - from.crf);
  const index = points.findLastIndex(isBelow);
  const [below, above] = [points[index], points[index + 1]];
  if (below !== undefined && above !== undefined) return { base: below, slope: slopeOf(below, above) };
  const slope = points.length === 1 ? slopeGuess : Math.max(slopeMin, Math.min(slopeMax, slopeOf(first, last)));
  return { base: below ?? first, slope };
}

function inRange(crf: number, codec: VideoCodec): number {
  const { min, max, step } = crfRanges[codec];
  return Number((Math.round(Math.max(min, Math.min(max, crf)) / step) * step).toFixed(1));
}

/** A loss that is larger by this much, 0.7 of VMAF at 93, is not seen. */
const unseenLoss = 0.1;

/**
 * Whether a rung adds nothing: the rung below, enlarged to its size, scores as well.
 *
 * @param enlarged the score of the rung below at the size of this one
 */
export function addsNothing({ measure, score }: RungQuality, target: QualityTarget, enlarged: number): boolean {
  const needed = Math.max(lossOf(measure, score), lossOf(measure, target.score));
  return lossOf(measure, enlarged) <= needed + unseenLoss;
}

/** SSIM that frames of a VMAF have about: for tools that cannot measure VMAF. */
export function ssimTargetOf(vmaf: number): QualityTarget {
  return { measure: 'ssim', score: Number((1 - (100 - vmaf) * ssimLossOfVmaf).toFixed(4)) };
}
const ssimLossOfVmaf = 0.004;

/** A trial encodes at most this share of the frames: three of them, measured, cost less than a tenth of the encode. */
const trialShareMax = 1 / 90;
/** Fewer samples would say too little, whatever they cost. */
const samplesMin = 2;
const samplesMax = 20;
/** The frames of all samples before they are encoded, 1.5 bytes a pixel; on disk they take about half of it. */
const rawBytesMax = 2 * 1024 ** 3;

/** The frames that each sample begins with. A sample is a GOP, so that key frames are as frequent as in the stream. */
export function samplePlaces(video: {
  readonly frames: number;
  readonly grid: Pick<Grid, 'gopFrames'>;
  /** The pixels of all rungs together. */
  readonly pixels: number;
}): number[] {
  const { frames, pixels } = video;
  const { gopFrames } = video.grid;
  const byCost = Math.floor((frames * trialShareMax) / gopFrames);
  const bySize = Math.floor(rawBytesMax / (1.5 * pixels * gopFrames));
  const wanted = Math.max(samplesMin, Math.min(byCost, bySize, samplesMax));
  const count = Math.min(wanted, Math.ceil(frames / gopFrames));
  const lastFirst = Math.max(0, frames - gopFrames);
  return Array.from({ length: count }, (_, index) => {
    const middle = ((index + 0.5) / count) * frames;
    return Math.max(0, Math.min(lastFirst, Math.round(middle - gopFrames / 2)));
  });
}
