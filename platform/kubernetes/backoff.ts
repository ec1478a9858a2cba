/** How waits grow from one failure to the next. */
export interface Backoff {
  /** The wait after the first failure, in milliseconds. */
  baseMs: number;
  /** The longest wait, in milliseconds. */
  maxMs: number;
}

/**
 * The wait after `failures` failures in a row (1 for the first), in milliseconds: doubled each time up to `maxMs`, of
 * which half is sure and half is chance, so that many clients of one API server do not come back in step.
 */
export function backoffMs(failures: number, { baseMs, maxMs }: Backoff, random: () => number = Math.random): number {
  const full = Math.min(maxMs, baseMs * 2 ** Math.min(failures - 1, 30));
  return full / 2 + (full / 2) * random();
}
