import { setTimeout as sleep } from 'node:timers/promises';

/** How the delay grows from one failure to the next. */
export interface Backoff {
  /** The delay after the first failure, in milliseconds. */
  readonly baseMs: number;
  /** The longest delay, in milliseconds. */
  readonly maxMs: number;
}

/**
 * The delay after `failures` failures in a row (1 for the first), in milliseconds: doubled each time up to `maxMs`.
 * Half of it is fixed and half is random, so that the clients of one server do not retry at the same moment.
 */
export function backoffMs(failures: number, { baseMs, maxMs }: Backoff, random: () => number = Math.random): number {
  const full = Math.min(maxMs, baseMs * 2 ** Math.min(failures - 1, 30));
  return full / 2 + (full / 2) * random();
}

/** Resolves after `delayMs`, or as soon as `signal` aborts: the caller checks the signal afterwards. */
export async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  await sleep(delayMs, undefined, { signal }).catch(() => undefined);
}
