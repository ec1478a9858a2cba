import { setTimeout as sleep } from 'node:timers/promises';
import { type Backoff, delayAfter } from '#domain/backoff.ts';

/**
 * The delay after `failures` failures in a row (1 for the first), in milliseconds. Half of it is fixed and half is
 * random, so that the clients of one server do not retry at the same moment.
 */
export function backoffMs(failures: number, backoff: Backoff, random: () => number = Math.random): number {
  const full = delayAfter(failures, backoff);
  return full / 2 + (full / 2) * random();
}

/** Resolves after `delayMs`, or as soon as `signal` aborts: the caller checks the signal afterwards. */
export async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  await sleep(delayMs, undefined, { signal }).catch(() => undefined);
}
