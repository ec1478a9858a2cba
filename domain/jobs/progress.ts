import type { JobPhase } from './status.ts';

/** The share of the whole that lies before each phase, in percent. */
const startOfPhase = {
  admitted: 0,
  suspended: 1,
  scheduling: 1,
  probing: 3,
  encoding: 5,
  packaging: 80,
  publishing: 85,
} as const satisfies Record<JobPhase, number>;

const endOfLastPhase = 95;

/**
 * A job's progress in percent, 0–95 while it runs.
 *
 * @param fraction how much of `phase` is done, 0–1; values outside are clamped
 */
export function progressOf(phase: JobPhase, fraction: number): number {
  const start = startOfPhase[phase];
  const next = Object.keys(startOfPhase).indexOf(phase) + 1;
  const end = Object.values(startOfPhase)[next] ?? endOfLastPhase;
  const done = Number.isFinite(fraction) ? Math.min(1, Math.max(0, fraction)) : 0;
  return Math.floor(start + (end - start) * done);
}
