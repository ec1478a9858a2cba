import { setTimeout as sleep } from 'node:timers/promises';

/** Work that is killed lacks a twentieth of its time, or as much as this. */
const leastMs = 100;
const mostMs = 5_000;

/**
 * Reads what running work has used, so that it is known of work that is killed: ten times a second at first, then after
 * each twentieth of its time, and at least every five seconds.
 *
 * @param signal ends the readings
 */
export async function readRepeatedly(read: () => void, signal: AbortSignal): Promise<void> {
  const startedMs = performance.now();
  while (!signal.aborted) {
    const ranMs = performance.now() - startedMs;
    const waitMs = Math.min(mostMs, Math.max(leastMs, ranMs / 20));
    await sleep(waitMs, undefined, { signal }).catch(() => undefined);
    if (!signal.aborted) read();
  }
}
