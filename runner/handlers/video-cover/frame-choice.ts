/** How a frame looks, from its grey values (0–255). */
export interface FrameLook {
  readonly timeSec: number;
  readonly mean: number;
  readonly deviation: number;
  /** Standard deviation of the Laplacian: small when the picture is blurred. */
  readonly sharpness: number;
}

const meanMin = 16;
const meanMax = 240;
/** A frame that has hardly any contrast is a fade, a title's background or a test of patience. */
const deviationMin = 8;
/** A frame that has less of the sharpest's edges than this is blurred by movement or a dissolve. */
const sharpnessShareMin = 0.5;

/** Whether a frame shows something. */
export function showsSomething({ mean, deviation }: FrameLook): boolean {
  return mean >= meanMin && mean <= meanMax && deviation >= deviationMin;
}

/**
 * The frame that represents a video: the first in the order of preference that shows something and is not blurred
 * beside the others; when none shows anything, the one with the most contrast.
 *
 * @param looks in the order of preference, at least one
 */
export function chooseFrame<L extends FrameLook>(looks: readonly L[]): L | undefined {
  const showing = looks.filter(showsSomething);
  const sharpest = Math.max(0, ...showing.map(({ sharpness }) => sharpness));
  const chosen = showing.find(({ sharpness }) => sharpness >= sharpest * sharpnessShareMin);
  return chosen ?? looks.toSorted((a, b) => b.deviation - a.deviation)[0];
}
