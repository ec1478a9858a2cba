/** How the delay grows from one failure to the next. */
export interface Backoff {
  /** The delay after the first failure, in milliseconds. */
  readonly baseMs: number;
  /** The longest delay, in milliseconds. */
  readonly maxMs: number;
  /** The ratio of each delay to the one before; by default 2. */
  readonly factor?: number;
}

/** The delay after `failures` failures in a row, 1 for the first, in milliseconds. */
export function delayAfter(failures: number, { baseMs, maxMs, factor = 2 }: Backoff): number {
  return Math.min(maxMs, baseMs * factor ** (failures - 1));
}
