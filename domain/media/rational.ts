/** An exact ratio of two positive integers, for frame rates: 30000/1001 has no exact decimal form. */
export interface Rational {
  readonly num: number;
  readonly den: number;
}

/** The ratio in lowest terms. */
export function rational(num: number, den: number): Rational {
  const divisor = greatestCommonDivisor(num, den);
  return { num: num / divisor, den: den / divisor };
}

/** The ratio as a number. */
export function valueOf({ num, den }: Rational): number {
  return num / den;
}

/** `num/den`, as ffmpeg reads and writes it. */
export function showRational({ num, den }: Rational): string {
  return den === 1 ? String(num) : `${num}/${den}`;
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
