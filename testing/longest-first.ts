import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { durationOf } from './durations.ts';

/** The longest files first: one that begins last keeps a run waiting with one core at work. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line no-array-sort -- a method of vitest
    const others = await super.sort(files);
    return others.toSorted((one, other) => secondsOf(other) - secondsOf(one));
  }
}

function secondsOf({ moduleId }: TestSpecification): number {
  return durationOf(relative(`${import.meta.dirname}/..`, moduleId));
}
