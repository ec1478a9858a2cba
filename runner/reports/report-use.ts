import { setTimeout as sleep } from 'node:timers/promises';
import type { StepRun } from '#domain/work/unit-run.ts';
import type { Reporter } from './reporter.ts';

/** A killed step is short of a twentieth of its time, or of as much as this. */
const leastMs = 100;
const mostMs = 5_000;

/**
 * Reports what a step has used while it runs, so that it is known of one that is killed: at first ten times a second,
 * then after each twentieth of its time, and at least every five seconds.
 *
 * @param read what the steps have taken so far
 * @param signal ends the reports
 */
export async function reportUse(
  read: () => Promise<readonly StepRun[]>,
  reporter: Pick<Reporter, 'used'>,
  signal: AbortSignal,
): Promise<void> {
  const startedMs = performance.now();
  while (!signal.aborted) {
    const ranMs = performance.now() - startedMs;
    const waitMs = Math.min(mostMs, Math.max(leastMs, ranMs / 20));
    await sleep(waitMs, undefined, { signal }).catch(() => undefined);
    const steps = signal.aborted ? null : await read();
    if (steps !== null && !signal.aborted) reporter.used(steps);
  }
}
