/** Statistics of a frame's grey values (0–255). */
export interface FrameLook {
  readonly timeSec: number;
  readonly mean: number;
  readonly deviation: number;
  /** Standard deviation of the Laplacian: small when the frame is blurred. */
  readonly sharpness: number;
}

const meanMin = 16;
const meanMax = 240;
/** A frame with less contrast is a fade or the background of a title. */
const deviationMin = 8;
/** A frame with less than this share of the sharpest frame's sharpness is blurred by motion or a dissolve. */
const sharpnessShareMin = 0.5;

/** Whether a frame is neither black, white nor flat. */
export function showsSomething({ mean, deviation }: FrameLook): boolean {
  return mean >= meanMin && mean <= meanMax && deviation >= deviationMin;
}

/**
 * The frame that represents a video: the first in order of preference that shows something and is not blurred compared
 * with the others; if no frame shows anything, the one with the most contrast.
 *
 * @param looks in the order of preference, at least one
 */
export function chooseFrame<L extends FrameLook>(looks: readonly L[]): L | undefined {
  const showing = looks.filter(showsSomething);
  const sharpest = Math.max(0, ...showing.map(({ sharpness }) => sharpness));
  const chosen = showing.find(({ sharpness }) => sharpness >= sharpest * sharpnessShareMin);
  return chosen ?? looks.toSorted((a, b) => b.deviation - a.deviation)[0];
}

/** To decode 4 s more costs about as much as to start again at the key frame before, which is up to 10 s away. */
const distanceSecMax = 4;

/** Times in ascending order, in runs of neighbours: the frames of a run are taken by one decode. */
export function runsOf(timesSec: readonly number[]): (readonly [number, ...number[]])[] {
  const runs: [number, ...number[]][] = [];
  for (const sec of timesSec.toSorted((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last !== undefined && sec - (last.at(-1) ?? sec) <= distanceSecMax) last.push(sec);
    else runs.push([sec]);
  }
  return runs;
}
