import { expect, it } from 'vitest';
import { boundedRuns, type StepRun, type UnitRun, unitRunSchema, unitsListedMax, workOf } from './unit-run.ts';

const step = (second: number, processor: number | null): StepRun => ({
  step: 'process',
  started_at: new Date(Date.UTC(2026, 10, 24, 8, 0, second)).toISOString(),
  duration_ms: 1000,
  processor_ms: processor,
  code: null,
});
const chunk = (index: number, ...steps: StepRun[]): UnitRun => ({ unit: 'chunk', chunk: index, pod: null, steps });

it('the work of an attempt has its units in the order of their starts and the processor time that is known', () => {
  const [late, early] = [chunk(0, step(9, 700), step(10, null)), chunk(1, step(2, 300))];
  expect(workOf([late, early])).toEqual({ processor_ms: 1000, units: [early, late], units_left_out: 0 });
});

it('the work of an attempt lists a bounded number of units and counts the time of all', () => {
  const units = Array.from({ length: unitsListedMax + 30 }, (_, index) => chunk(index, step(index, 10)));
  const { units: listed, ...more } = workOf(units);
  expect(listed).toEqual(units.slice(0, unitsListedMax));
  expect(more).toEqual({ processor_ms: 10 * units.length, units_left_out: 30 });
});

it('a recorded run has a unit of a known kind, and a chunk from 0 on', () => {
  const run = chunk(0, step(1, 5));
  expect(unitRunSchema.parse(run)).toEqual(run);
  for (const changes of [{ unit: 'other' }, { chunk: -1 }, { pod: 1 }, { steps: [{}] }])
    expect(unitRunSchema.safeParse({ ...run, ...changes }).success).toBe(false);
});

it('C37.9: what a runner says of its steps is bounded by what who started it saw', () => {
  const seen = { ...step(10, null), duration_ms: 4_000 };
  const fair = { ...step(11, 5_000), duration_ms: 2_500 };
  expect(boundedRuns([fair], seen, 2)).toEqual([fair]);
  expect(boundedRuns([], seen, 2)).toEqual([seen]);
  const another = { ...fair, step: 'fetch' as const };
  expect(boundedRuns([another], seen, 2)).toEqual([seen]);
  expect(boundedRuns([another, fair], { ...seen, step: 'all' }, 2)).toEqual([another, fair]);
  const lies = { ...step(0, 9e9), started_at: '2020-01-01T00:00:00.000Z', duration_ms: 9e9 };
  const bounded = { ...lies, started_at: step(9, null).started_at, duration_ms: 5_000, processor_ms: 10_000 };
  expect(boundedRuns([lies], seen, 2)).toEqual([bounded]);
  const later = { ...lies, started_at: '2030-01-01T00:00:00.000Z' };
  expect(boundedRuns([later], seen, 2)).toEqual([{ ...bounded, started_at: step(15, null).started_at }]);
});

it.each<[string, number, (number | null)[], number[]]>([
  ['more than the runner said: the last step has the rest', 900, [100, 300, 50], [100, 300, 500]],
  ['less than the runner said: the last steps have less', 350, [100, 300, 50], [100, 250, 0]],
  ['what a step did not say counts for the last one', 350, [null, 300, null], [0, 300, 50]],
])('C37.23: of a processor time that was measured, %s', (_, wholeMs, told, divided) => {
  const names = ['fetch', 'process', 'publish'] as const;
  const runs = told.map((ms, index) => ({ ...step(10 + index, ms), step: names[index] as StepRun['step'] }));
  const seen = { ...step(10, wholeMs), step: 'all' as const, duration_ms: 4_000 };
  expect(boundedRuns(runs, seen, 2).map(({ processor_ms: ms }) => ms)).toEqual(divided);
  expect(boundedRuns([], seen, 2)).toEqual([seen]);
});
