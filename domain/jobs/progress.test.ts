import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jobTypeNames, jobTypes } from '../job-types/index.ts';
import { progressOf } from './progress.ts';
import { jobPhases } from './status.ts';

describe('the progress of a job', () => {
  it.each([
    ['admitted', 0, 0],
    ['suspended', 1, 1],
    ['scheduling', 1, 3],
    ['probing', 0.5, 4],
    ['encoding', 0, 5],
    ['encoding', 0.5, 42],
    ['packaging', 0, 80],
    ['publishing', 1, 95],
  ] as const)('the progress of a job in phase %s with %d of it done is %i percent', (phase, fraction, percent) =>
    expect(progressOf(phase, fraction)).toBe(percent),
  );

  it('the progress of a job never falls along the phases, and stays within 0 and 95', () => {
    const step = fc.tuple(fc.nat(jobPhases.length - 1), fc.double({ min: 0, max: 1, noNaN: true }));
    fc.assert(
      fc.property(step, step, (one, other) => {
        const [earlier, later] = [one, other].toSorted(([a, b], [c, d]) => a - c || b - d) as [typeof one, typeof one];
        const [before, after] = [earlier, later].map(([phase, fraction]) =>
          progressOf(jobPhases[phase] ?? 'admitted', fraction),
        ) as [number, number];
        expect(before).toBeLessThanOrEqual(after);
        expect(after).toBeLessThanOrEqual(95);
      }),
    );
  });

  it.each([
    [Number.NaN, 5],
    [Infinity, 5],
    [-Infinity, 5],
    [-1, 5],
    [2, 80],
  ])('the progress of a job with %d of its encoding done is held within the phase', (fraction, percent) => {
    expect(progressOf('encoding', fraction)).toBe(percent);
  });

  it('the progress of a completed video:transcode is 95, and of every other completed job 100', () => {
    for (const type of jobTypeNames)
      expect(jobTypes[type].completedProgress).toBe(type === 'video:transcode' ? 95 : 100);
  });
});
