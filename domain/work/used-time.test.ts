import { expect, it } from 'vitest';
import type { StepRun, UnitRun } from './unit-run.ts';
import { usedTimeOf } from './used-time.ts';

const run = (step: StepRun['step'], second: number, seconds: number, processorMs: number | null): StepRun => ({
  step,
  started_at: new Date(second * 1000).toISOString(),
  duration_ms: seconds * 1000,
  processor_ms: processorMs,
  code: null,
});
const unit = (...steps: StepRun[]): UnitRun => ({ unit: 'chunk', chunk: 0, pod: 'p', steps });

it.each<[string, UnitRun[], ReturnType<typeof usedTimeOf>]>([
  ['no unit', [], null],
  ['units that ran no step', [unit(), unit()], null],
  [
    'a unit takes its pod from its first step to its last, pauses between them too',
    [unit(run('fetch', 0, 1, 30), run('process', 4, 2, 900), run('publish', 6, 1, 7))],
    { fetch: 30, process: 900, publish: 7, pod: 7_000 },
  ],
  [
    'units at the same time are added up',
    [unit(run('process', 0, 3, 100)), unit(run('process', 1, 2, 50))],
    { fetch: 0, process: 150, publish: 0, pod: 5_000 },
  ],
  [
    'steps that were killed have a duration alone',
    [unit(run('fetch', 0, 1, 30), run('process', 1, 9, null)), unit(run('all', 0, 2, null))],
    { fetch: 30, process: 0, publish: 0, pod: 12_000 },
  ],
  [
    'C37.23: a process of all steps that was killed counts for its main one',
    [unit(run('all', 0, 2, 70))],
    { fetch: 0, process: 70, publish: 0, pod: 2_000 },
  ],
])('%s', (_, units, used) => expect(usedTimeOf(units)).toEqual(used));
