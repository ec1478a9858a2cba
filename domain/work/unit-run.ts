import { z } from 'zod';
import { jobErrorCodes } from '../errors.ts';
import { steps } from './steps.ts';
import { type UnitKind, unitKinds } from './unit.ts';

/** A year: longer than anything runs. */
const durationMsMax = 366 * 24 * 3600 * 1000;
const durationSchema = z.int().nonnegative().max(durationMsMax);

/** A run of a step, as its runner measured it; one that was killed is measured by who started it. */
export const stepRunSchema = z.object({
  step: z.enum([...steps, 'all']).describe('The step; `all` for all steps in one process.'),
  started_at: z.iso.datetime().max(40).describe('When it began, by the clock of the machine that it ran on.'),
  duration_ms: durationSchema.describe('How long it took, in milliseconds.'),
  processor_ms: durationSchema
    .nullable()
    .describe('Processor time of its process and every tool that it ran, in milliseconds; null: not known.'),
  code: z
    .enum(jobErrorCodes)
    .nullable()
    .describe('The error that it failed by; null for one that succeeded or ended without a word.')
    .meta({ examples: [null] }),
});
export type StepRun = z.infer<typeof stepRunSchema>;

/** A runner's report of the steps that it ran. */
export const stepRunsSchema = z.array(stepRunSchema).max(steps.length);

/** Clocks differ, and the kubelet's times are whole seconds. */
const toleranceMs = 1_000;

/**
 * The runs of steps that a runner reports, as far as who started it saw them: a process that decodes files of others
 * may say anything. Runs of another step are left out, and none takes longer, on more than `cores` processors, or begins at
 * another time. Without any it is what was seen. Where who started it measured the processor time, this is it, and the
 * reports only say how it is divided among the steps.
 */
export function boundedRuns(told: readonly StepRun[], seen: StepRun, cores: number): readonly StepRun[] {
  const ofStep = told.filter(({ step }) => seen.step === 'all' || step === seen.step);
  if (ofStep.length === 0) return [seen];
  const startMs = Date.parse(seen.started_at);
  const longestMs = seen.duration_ms + toleranceMs;
  const bounded = ofStep.map((run) => {
    const begunMs = Date.parse(run.started_at);
    const atMs = Math.min(startMs + longestMs, Math.max(startMs - toleranceMs, begunMs));
    return {
      ...run,
      started_at: atMs === begunMs ? run.started_at : new Date(atMs).toISOString(),
      duration_ms: Math.min(run.duration_ms, longestMs),
      processor_ms: run.processor_ms === null ? null : Math.min(run.processor_ms, longestMs * cores),
    };
  });
  return seen.processor_ms === null ? bounded : divided(bounded, seen.processor_ms);
}

/** The runs with a whole processor time that was measured: the last one has what the others did not say. */
function divided(runs: readonly StepRun[], wholeMs: number): readonly StepRun[] {
  let leftMs = wholeMs;
  return runs.map((run, index) => {
    const isLast = index === runs.length - 1;
    const ownMs = isLast ? leftMs : Math.min(leftMs, run.processor_ms ?? 0);
    leftMs -= ownMs;
    return { ...run, processor_ms: ownMs };
  });
}

/** A run of a unit, in the fields of the answer. */
export const unitRunSchema = z.object({
  unit: z.enum(Object.keys(unitKinds) as [UnitKind, ...UnitKind[]]).describe('The kind of the unit.'),
  chunk: z
    .int()
    .nonnegative()
    .nullable()
    .describe('The number of the chunk, from 0; null for a unit that is no chunk.')
    .meta({ examples: [null] }),
  pod: z
    .string()
    .nullable()
    .describe('Its pod; null where it had none.')
    .meta({ examples: [null] }),
  steps: z.array(stepRunSchema).describe('The steps that it ran, in their order.'),
});
export type UnitRun = z.infer<typeof unitRunSchema>;

/** The cost of an attempt. */
export interface AttemptWork {
  /** The processor time of all units, of the steps where it is known; null where it is known of none. */
  readonly processor_ms: number | null;
  /** The first of them, in the order of their starts. */
  readonly units: readonly UnitRun[];
  readonly units_left_out: number;
}

/** The units of an attempt that are recorded one by one: in a long video the first 200 of its chunks. */
export const unitsListedMax = 200;

/** The cost of an attempt that ran these units. */
export function workOf(units: readonly UnitRun[]): AttemptWork {
  const startOf = ({ steps: [first] }: UnitRun) => first?.started_at ?? '';
  const inOrder = units.toSorted((a, b) => Date.parse(startOf(a)) - Date.parse(startOf(b)));
  const listed = inOrder.slice(0, unitsListedMax);
  const times = units.flatMap(({ steps: runs }) => runs.map(({ processor_ms: ms }) => ms));
  return {
    processor_ms: sumOfKnown(times),
    units: listed,
    units_left_out: units.length - listed.length,
  };
}

/** The sum of the numbers that are known; null: none is. */
export function sumOfKnown(numbers: readonly (number | null)[]): number | null {
  const known = numbers.filter((each) => each !== null);
  return known.length === 0 ? null : known.reduce((sum, each) => sum + each, 0);
}
