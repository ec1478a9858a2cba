import { type Step, steps } from './steps.ts';
import type { UnitRun } from './unit-run.ts';

/** The time that an attempt used, in milliseconds. */
export interface UsedTime extends Readonly<Record<Step, number>> {
  /** From the first to the last moment of each unit, all units together: what their pods took. */
  readonly pod: number;
}

/** The time of an attempt that ran these units: the known processor time of each step. Null: no unit is known. */
export function usedTimeOf(units: readonly UnitRun[]): UsedTime | null {
  const ran = units.filter(({ steps: runs }) => runs.length > 0);
  if (ran.length === 0) return null;
  const used = Object.fromEntries(steps.map((step) => [step, 0])) as Record<Step, number>;
  // Of a process for all steps that was killed only the whole is known: most of it is what it is started for.
  for (const { step, processor_ms: ms } of ran.flatMap(({ steps: runs }) => runs))
    used[step === 'all' ? 'process' : step] += ms ?? 0;
  return { ...used, pod: ran.reduce((sum, unit) => sum + spanMsOf(unit), 0) };
}

function spanMsOf({ steps: runs }: UnitRun): number {
  const spans = runs.map(({ started_at: at, duration_ms: ms }) => ({ from: Date.parse(at), to: Date.parse(at) + ms }));
  return Math.max(...spans.map(({ to }) => to)) - Math.min(...spans.map(({ from }) => from));
}
